// The single executable has only the client, because the server needs WebAssembly files next to its code.
import { CliError, exit } from '../src/errors/errors.ts'
import { main } from '../src/main.ts'

process.exitCode = exit.failure // the exit code if `main` never settles
main(
  process,
  () =>
    Promise.reject(
      new CliError('no_server', exit.usage, 'this executable is the client only', {
        hint: 'install the npm package, or run the image: they have consentctl serve and consentctl admin',
      }),
    ),
  undefined,
  () => BUILD,
).then(code => {
  process.exitCode = code
})
