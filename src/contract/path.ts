import type { Route } from './endpoint.ts'

export function pathOf({ path }: Pick<Route, 'path'>, params: unknown): string {
  return path.replace(/:(\w+)/g, (_, name: string) =>
    encodeURIComponent(String((params as Record<string, unknown>)[name])),
  )
}
