import { appendFileSync } from 'node:fs'
import type { Reporter, TestCase, TestModule, TestSuite } from 'vitest/node'

/** A reporter that appends each failure to the file of CONSENTCTL_TEST_FAILURES, which test/all.js prints after everything else. */
export class Failures implements Reporter {
  readonly #file: string

  constructor(file: string) {
    this.#file = file
  }

  onTestCaseResult(test: TestCase): void {
    this.#add(test.module, test.fullName, test.result().errors)
  }

  onTestSuiteResult(suite: TestSuite): void {
    this.#add(suite.module, suite.fullName, suite.errors())
  }

  onTestModuleEnd(module: TestModule): void {
    this.#add(module, 'the file', module.errors())
  }

  onTestRunEnd(_modules: unknown, errors: readonly { readonly message?: string }[]): void {
    for (const { message } of errors) appendFileSync(this.#file, `  outside of tests: ${firstLine(message)}\n`)
  }

  #add(module: TestModule, name: string, errors: readonly { readonly message?: string }[] = []): void {
    for (const { message } of errors)
      appendFileSync(
        this.#file,
        `  ${module.project.name} › ${module.relativeModuleId} › ${name}: ${firstLine(message)}\n`,
      )
  }
}

/** The first line that says something, of at most 300 characters. */
function firstLine(message = ''): string {
  return (message.split('\n').find(line => line.trim() !== '') ?? 'no message').slice(0, 300)
}
