#!/usr/bin/env node
import { existsSync } from 'node:fs'

const built = new URL('../dist/src/main.js', import.meta.url)
if (existsSync(built)) {
  const { main } = await import(built.href)
  process.exitCode = await main(process, () => import('../dist/server/main.js'))
} else {
  process.stderr.write('error: consentctl is not built yet\ntry: npm run setup\n')
  process.exitCode = 1
}
