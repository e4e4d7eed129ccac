import { appendFileSync } from 'node:fs'
import type { Reporter, TestCase, TestModule, TestSuite } from 'vitest/node'

type Errors = readonly { readonly message?: string }[]

/** A reporter that appends each failure to a file, a JSON object a line: `test/all.js` reads it. */
export class Failures implements Reporter {
  readonly #path: string

  constructor(path: string) {
    this.#path = path
  }

  onTestCaseResult(test: TestCase): void {
    this.#add(test.result().errors, { ...fileOf(test.module), test: test.fullName })
  }

  onTestSuiteResult(suite: TestSuite): void {
    this.#add(suite.errors(), { ...fileOf(suite.module), test: suite.fullName })
  }

  onTestModuleEnd(module: TestModule): void {
    this.#add(module.errors(), { ...fileOf(module), test: 'the file' })
  }

  onTestRunEnd(_modules: unknown, errors: Errors): void {
    this.#add(errors, { project: null, file: null, test: 'outside of tests' })
    appendFileSync(this.#path, `${JSON.stringify({ isEnd: true })}\n`)
  }

  #add(errors: Errors = [], place: object): void {
    for (const { message } of errors)
      appendFileSync(this.#path, `${JSON.stringify({ ...place, message: firstLine(message) })}\n`)
  }
}

function fileOf({ project, relativeModuleId }: TestModule) {
  return { project: project.name, file: relativeModuleId }
}

/** The first line that says something, of at most 300 characters. */
function firstLine(message = ''): string {
  return (message.split('\n').find(line => line.trim() !== '') ?? 'no message').slice(0, 300)
}
