import { shellNames } from '../completion/names.ts'
import { fileNames, scripts } from '../completion/scripts.ts'
import { manPages } from './man.ts'
import { readmeTable } from './readme.ts'
import { schemaFiles } from './schemas.ts'
import { describeTree } from './tree.ts'

/** What is made from the tree of commands and from the contract, by its file; `readme` is the part between its two marks. */
export interface Generated {
  readonly completions: Readonly<Record<string, string>>
  readonly man: Readonly<Record<string, string>>
  readonly readme: string
  /** JSON Schemas of the signed documents. */
  readonly schemas: Readonly<Record<string, string>>
}

/** Everything that is generated, for a version of the program. */
export async function generate(version: string): Promise<Generated> {
  const tree = await describeTree()
  return {
    completions: Object.fromEntries(shellNames.map(shell => [fileNames[shell], scripts[shell](tree)])),
    man: manPages(tree, version),
    readme: readmeTable(tree),
    schemas: schemaFiles(),
  }
}
