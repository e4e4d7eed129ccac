import { shellNames } from '../completion/names.ts'
import { fileNames, scripts } from '../completion/scripts.ts'
import { manPages } from './man.ts'
import { readmeTable } from './readme.ts'
import { describeTree } from './tree.ts'

/** What is made from the tree of commands, by the file it belongs into; `README.md` is the part between its two marks. */
export interface Generated {
  readonly completions: Readonly<Record<string, string>>
  readonly man: Readonly<Record<string, string>>
  readonly readme: string
}

/** Everything that is generated, for a version of the program. */
export async function generate(version: string): Promise<Generated> {
  const tree = await describeTree()
  return {
    completions: Object.fromEntries(shellNames.map(shell => [fileNames[shell], scripts[shell](tree)])),
    man: manPages(tree, version),
    readme: readmeTable(tree),
  }
}
