// A job whose output the test controls.
import { mkdtemp, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { until } from './until.js'

/** talk is the script of its app. It prints each line that is added to a file, and ends when a file named end exists. */
export const talk = `
i=0
while [ ! -e "$ELASTICJOB_JOB_PARAMETER/end" ]; do
  want=$(cat "$ELASTICJOB_JOB_PARAMETER/lines" 2>/dev/null || echo 0)
  while [ $i -lt "$want" ]; do i=$((i + 1)); echo "line $i of shard $ELASTICJOB_SHARDING_ITEM"; done
  sleep 0.05
done`

/**
 * talking registers and triggers such a job, and waits until its task has begun.
 * @param {import('./server.js').Server} server with an app `talk` of that script
 * @param {string} name
 */
export async function talking(server, name) {
  const folder = await mkdtemp(join(server.dir, 'talk-'))
  await server.job(name, 'talk', { jobParameter: folder })
  const { executionId } = await server.run(name, 'RUNNING')
  const [shard] = await until('its task has begun', async () => {
    const { shards } = await server.api('GET', `/api/execution/${encodeURIComponent(executionId)}`)
    return shards[0].state === 'RUNNING' && shards
  })
  return {
    execution: executionId,
    task: shard.taskId,
    say: (/** @type {number} */ lines) => writeFile(join(folder, 'lines'), String(lines)),
    end: () => writeFile(join(folder, 'end'), ''),
  }
}
