// The thread that the embedded database runs in, so that its queries never hold up HTTP.
import { parentPort, workerData } from 'node:worker_threads'
import { openPGlite } from './pglite.ts'

/** An empty database, packed; the build makes it. */
const fresh = new URL('./embedded.tar.gz', import.meta.url)

const db = await openPGlite((workerData as { folder: string }).folder, fresh)

parentPort?.once('message', async () => {
  await db.close()
  parentPort?.close()
})
parentPort?.postMessage('ready')
