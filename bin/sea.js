// The single executable's main script: the client alone. The server's database is WebAssembly and data beside its code.
import { CliError, exit } from '../src/errors/errors.ts'
import { main } from '../src/main.ts'

process.exitCode = exit.failure // unless it comes to an end
main(process, () =>
  Promise.reject(
    new CliError('no_server', exit.usage, 'this executable is the client alone, without the service', {
      hint: 'npx consentctl serve, or npx consentctl admin …',
    }),
  ),
).then(code => {
  process.exitCode = code
})
