import { Option } from 'commander'

/**
 * `--json`, and `--json=fields` in one word. Commander's own optional values would take the word that follows: an id.
 * It looks for every word among the options, and for one with `=` a second time by the part before that.
 */
export class JsonOption extends Option {
  constructor() {
    super('--json', 'the same as -o json; with names of fields, separated by commas, these alone')
    this.flags = '--json[=fields]'
  }

  is(word: string): boolean {
    if (word === this.long) return true
    this.optional = word.startsWith(`${this.long}=`)
    return false
  }
}
