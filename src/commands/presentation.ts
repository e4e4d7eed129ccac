import type { Context, Globals } from '../context.ts'
import { usageError } from '../errors/errors.ts'
import type { FormatName, View } from '../output/index.ts'

/** The formats that have a line of cells for each row. */
const ofCells: readonly FormatName[] = ['table', 'tsv', 'csv']

/** Flags that not every format understands, and those that do. */
const understood: readonly [flag: string, isGiven: (globals: Globals) => boolean, readonly FormatName[]][] = [
  ['--json', ({ json }) => json !== undefined, ['json', 'id']],
  ['--columns', ({ columns }) => columns !== undefined, ofCells],
  ['--header', ({ header }) => header === true, [...ofCells, 'id']],
  ['--no-truncate', ({ truncate }) => truncate === false, ofCells],
  ['--no-csv-guard', ({ csvGuard }) => csvGuard === false, ['csv']],
]

/**
 * The view with the columns that were asked for, in that order, or null where none were. Throws a usage error for flags
 * that make no sense together, for unknown columns, and where a secret that is shown once would be left out.
 */
export function chosenView<Row>({ globals }: Context, format: FormatName, view: View<Row>): View<Row> | null {
  for (const [flag, isGiven, formats] of understood) {
    if (isGiven(globals) && !formats.includes(format))
      throw usageError(`${flag} makes no sense with ${globals.quiet ? '-q' : `-o ${format}`}`)
  }
  const secret = view.columns.filter(({ once }) => once).map(({ name }) => name)
  if (format === 'id' && secret.length > 0)
    throw usageError('-q and -o id would lose the secret, which is shown once')
  const fields = typeof globals.json === 'string' ? globals.json : undefined
  const [flag, list] = globals.columns === undefined ? ['--json', fields] : ['--columns', globals.columns]
  if (list === undefined) return null
  const columns = list.split(',').map(name => columnOf(view, flag, name.trim()))
  if (new Set(columns).size < columns.length) throw usageError(`${flag} has a name twice`)
  const lost = secret.find(name => !columns.some(column => column.name === name))
  if (lost) throw usageError(`${flag} would lose the ${lost}, which is shown once`, `add ${lost}`)
  return { ...view, columns }
}

/** Throws where a command that prints no records is told how to print them; `takesOut` where `--out` is another matter. */
export function refuseChoice({ globals }: Context, takesOut = false): void {
  const flags = {
    '--json=': typeof globals.json === 'string',
    '--columns': globals.columns,
    '--out': takesOut ? undefined : globals.out,
  }
  for (const [flag, value] of Object.entries(flags))
    if (value !== undefined && value !== false)
      throw usageError(`this command prints no records: ${flag} makes no sense`)
}

function columnOf<Row>({ columns }: View<Row>, flag: string, name: string) {
  const column = columns.find(each => each.name === name)
  if (column) return column
  const wrong = name === '' ? 'has an empty name' : `has "${name}", which is not there`
  throw usageError(`${flag} ${wrong}; there are: ${columns.map(each => each.name).join(',')}`)
}
