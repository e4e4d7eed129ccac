import packageJson from '../../package.json' with { type: 'json' }
import { api, type Endpoint } from '../../src/contract/index.ts'
import { headers } from './headers.ts'
import { introduction, tags } from './introduction.ts'
import { describeOperation, type Operation } from './operation.ts'
import { describeRefusals } from './responses.ts'
import { describeInput, describeOutput } from './schemas.ts'
import { securitySchemes } from './security.ts'

/** The API as an OpenAPI 3.1 document (https://spec.openapis.org/oas/v3.1.1), made of the contract. */
export function describeApi(): object {
  const operations = operationsOf(api)
  const input = describeInput(operations.flatMap(({ endpoint }) => endpoint.body ?? []))
  const output = describeOutput(operations.map(({ endpoint }) => endpoint.response))
  const paths: Record<string, Record<string, object>> = {}
  for (const operation of operations) {
    const { path, method } = operation.endpoint
    const template = path.replace(/:(\w+)/g, '{$1}')
    paths[template] = {
      ...paths[template],
      [method.toLowerCase()]: describeOperation(operation, { input, output }),
    }
  }
  const responses = describeRefusals()
  const schemas = usedOf({ ...output.named, ...input.named }, { paths, responses })
  return {
    openapi: '3.1.1',
    info: {
      title: 'Consent records',
      version: packageJson.version,
      description: introduction,
      license: { name: packageJson.license, identifier: packageJson.license },
    },
    servers: [{ url: '/' }],
    tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
    paths,
    components: { schemas, responses, headers, securitySchemes },
  }
}

function operationsOf(resources: Readonly<Record<string, object>>): Operation[] {
  return Object.entries(resources).flatMap(([resource, endpoints]) =>
    Object.entries(endpoints).map(([name, endpoint]) => ({ resource, name, endpoint: endpoint as Endpoint })),
  )
}

/** The schemas that something refers to, here or among themselves. */
function usedOf<T>(schemas: Record<string, T>, root: object): Record<string, T> {
  const text = JSON.stringify([root, schemas])
  return Object.fromEntries(
    Object.entries(schemas).filter(([name]) => text.includes(`"#/components/schemas/${name}"`)),
  )
}
