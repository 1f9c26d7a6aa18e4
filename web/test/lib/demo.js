// The content of a server for tests: jobs that succeeded, fail, run, wait, and are disabled.

/** @typedef {{finished: string, failed: string, running: string, waiting: string, task: string, failedTask: string, agent: string}} Demo */

/** hostile is a text for every text field. It must be shown unchanged. */
export const hostile = `<script>document.title='broken'</script><img src=x onerror=alert(1)> \u202Etxt.exe\u202C ${'w'.repeat(40)}`

/** longName is a name of the maximum length. */
export const longName = 'a-job-with-a-name-that-is-as-long-as-a-name-may-be-'.padEnd(99, 'and-so-on-') + 'x'

/** work is a shell command that sleeps briefly, so that runs have different durations. */
const work = 'sleep 0.0$((ELASTICJOB_SHARDING_ITEM + 1))'

const scripts = {
  billing: `
echo "shard $ELASTICJOB_SHARDING_ITEM of $ELASTICJOB_SHARDING_TOTAL_COUNT: $ELASTICJOB_SHARDING_PARAMETER"
for i in 1 2 3 4 5 6 7 8; do
  printf '\\033[32mINFO\\033[0m  read %d rows of invoices\\n' $((i * 1250))
done
printf '\\033[33mWARN\\033[0m  customer 4711 has no address, left out\\n'
printf '\\033[1mdone\\033[0m in %s\\n' "$(date +%T)"
${work}`,
  warehouse: `
echo "connect to db-2.example.com"
${work}
if [ "$ELASTICJOB_SHARDING_ITEM" = 1 ]; then
  printf '\\033[31mERROR\\033[0m connection refused: db-2.example.com:5432\\n' >&2
  exit 3
fi
echo "42 articles copied"`,
  import: `
echo '{"type":"progress","fraction":0.4,"message":"4000 of 10000 orders"}' >&4
i=0
while [ $i -lt 4000 ]; do
  i=$((i + 1))
  [ $((i % 200)) = 0 ] && echo "order $i imported"
done
sleep 3600`,
  watch: 'echo "all is well"',
}

/**
 * demo creates this content in a server, and returns the ids for the views.
 * @param {import('./server.js').Server} server
 * @returns {Promise<Demo>}
 */
export async function demo(server) {
  for (const [app, script] of Object.entries(scripts)) await server.app(app, script, { eventTraceSamplingCount: 0 })
  await server.job('nightly-invoices', 'billing', {
    cron: '0 0 3 ? * MON-FRI', timeZone: 'Europe/Berlin', shardingTotalCount: 3, shardingItemParameters: '0=Berlin,1=Hamburg,2=München',
    description: 'Writes the invoices of the day before, by branch', timeoutSeconds: 1800, maxRetries: 1,
  })
  await server.job('stock-copy', 'warehouse', { cron: '0 0/30 * * * ?', shardingTotalCount: 2, description: 'Copies what is in stock to the shop' })
  await server.job('order-import', 'import', { shardingTotalCount: 3, description: 'Imports orders of the old shop' })
  await server.job('yearly-statement', 'billing', { shardingTotalCount: 2, cpuCount: 12, description: 'Needs more than there is at once' })
  await server.job('heartbeat', 'watch', { jobExecutionType: 'DAEMON', cron: '0/5 * * * * ?', shardingTotalCount: 2, description: 'Looks whether the shop answers' })
  await server.job('archive', 'billing', { cron: '0 0 4 1 * ?', description: 'Moves what is old' })
  await server.job(longName, 'billing', { cron: '0 0 5 * * ?', description: hostile, jobParameter: hostile })
  await server.api('POST', '/api/job/archive/disable')
  await server.api('POST', `/api/job/${longName}/pause`)

  let finished = ''
  for (let i = 0; i < 6; i++) finished = (await server.run('nightly-invoices', 'FINISHED')).executionId
  for (let i = 0; i < 2; i++) await server.run('stock-copy', 'FAILED')
  const failed = await server.run('stock-copy', 'FAILED')
  const running = await server.run('order-import', 'RUNNING')
  const waiting = await server.run('yearly-statement', 'WAITING', 'RUNNING')
  const whole = await server.api('GET', `/api/execution/${encodeURIComponent(finished)}`)
  const [agent] = await server.api('GET', '/api/job/tasks/running')
  return {
    finished, failed: failed.executionId, running: running.executionId, waiting: waiting.executionId,
    task: whole.shards[0].taskId, failedTask: failed.shards.find((/** @type {any} */ s) => s.state === 'FAILED').taskId, agent: agent.slaveId,
  }
}
