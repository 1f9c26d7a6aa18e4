// A job's page, as its operator uses it.
import assert from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'
import { accessible } from './lib/browser.js'
import { scene, useServer } from './lib/scene.js'
import { until } from './lib/until.js'

const server = useServer({
  people: true,
  args: ['--time-zone', 'Asia/Tokyo'],
  seed: async (s) => {
    await s.app('mine-app', 'case "$ELASTICJOB_SHARDING_PARAMETER" in bad) echo "no ledger" >&2; exit 3;; slow) sleep 600;; esac')
    await s.job('mine-quick', 'mine-app', { shardingTotalCount: 3, cron: '0 0 3 ? * MON-FRI', timeZone: 'Asia/Shanghai', description: 'Ends at once', env: { LEVEL: 'debug', DB_PASSWORD: 'hunter2hunter2' } })
    await s.job('mine-local', 'mine-app', { cron: '0 0 3 * * ?' })
    await s.job('mine-failing', 'mine-app', { shardingTotalCount: 2, shardingItemParameters: '0=ok,1=bad' })
    await s.job('mine-large', 'mine-app', { cpuCount: 64 })
    await s.job('mine-slow', 'mine-app', { shardingTotalCount: 2, shardingItemParameters: '0=slow,1=slow' })
    await s.job('mine-daemon', 'mine-app', { jobExecutionType: 'DAEMON', cron: '0/2 * * * * ?', shardingTotalCount: 2 })
    for (let i = 0; i < 3; i++) await s.run('mine-quick', 'FINISHED')
    await s.run('mine-failing', 'FAILED')
    await s.run('mine-slow', 'RUNNING')
    await s.api('POST', '/api/job/mine-large/trigger')
  },
})

scene('a job’s page shows what the job waits for, and how it failed', server, async ({ open }) => {
  const waiting = await open('/jobs/job/mine-large', { as: 'viewer' })
  await waiting.getByText(/no agent can ever hold one shard: it needs 64 CPU/).first().waitFor()
  await accessible(waiting)
  const chinese = await open('/jobs/job/mine-large', { as: 'viewer', language: 'zh' })
  await chinese.getByText(/没有 Agent 能容纳一个分片：需要 64 CPU/).first().waitFor()
  const failing = await open('/jobs/job/mine-failing', { as: 'viewer' })
  await failing.getByText('no ledger').first().waitFor()
  await failing.getByRole('link', { name: 'Logs' }).waitFor()
  assert.equal(await failing.getByRole('button', { name: /Trigger|Pause|More/ }).count(), 0, 'a viewer has no buttons')
})

scene('the heat strip leads to executions and their shards, by pointer and by keys', server, async ({ open }) => {
  const page = await open('/jobs/job/mine-quick', { as: 'operator' })
  const columns = page.locator('.strip-column')
  await columns.nth(2).waitFor()
  assert.equal(await columns.nth(2).locator('g.cell').count(), 3)
  await columns.nth(2).focus()
  for (const key of ['ArrowLeft', 'ArrowDown', 'ArrowDown']) await page.keyboard.press(key)
  await page.getByText('Shard 1 · Finished').waitFor()
  await page.keyboard.press('Enter')
  await page.waitForURL(/\/executions\/execution\/mine-quick.*shard=1$/)
  await page.getByText('Only shard 1').waitFor()
  await page.goBack()
  await columns.nth(0).locator('rect').first().click()
  await page.waitForURL(/shard=0$/)
})

scene('the next fires are shown in the chosen time zone, and the cron in words', server, async ({ open }) => {
  const page = await open('/jobs/job/mine-quick', { as: 'viewer' })
  await page.getByText('from Monday to Friday').waitFor()
  const fires = page.locator('.fire-list li')
  await fires.nth(9).waitFor()
  await page.getByRole('button', { name: 'The job’s (Asia/Shanghai)' }).click()
  await page.locator('.fire-list').getByText(/03:00:00/).first().waitFor()
  await page.getByRole('button', { name: 'UTC', exact: true }).click()
  await page.locator('.fire-list').getByText(/19:00:00/).first().waitFor()
})

scene('the times of a job without a time zone are in the server’s, on every page', server, async ({ open }) => {
  const page = await open('/jobs/job/mine-local', { as: 'viewer' })
  await page.getByRole('button', { name: 'The job’s (Asia/Tokyo)' }).click()
  await page.locator('.fire-list').getByText(/03:00:00/).first().waitFor()
  await page.goto('/jobs')
  const form = await open('/jobs/job/mine-local/edit', { as: 'admin' })
  await form.getByPlaceholder('the server’s, Asia/Tokyo').waitFor()
  await page.getByRole('row', { name: /mine-local/ }).locator('time[title*=" 03:00:00.000 GMT+9"]').waitFor()
})

scene('a job is triggered, also with settings for one run', server, async ({ open, server }) => {
  const page = await open('/jobs/job/mine-quick', { as: 'operator' })
  await page.getByRole('button', { name: 'Trigger now', exact: true }).click()
  await page.getByRole('link', { name: 'Show it' }).click()
  await page.waitForURL(/\/executions\/execution\/mine-quick/)
  await page.getByRole('heading', { level: 1 }).locator('..').getByText('Finished').waitFor()
  await page.goBack()
  await page.getByRole('button', { name: 'Trigger with parameters' }).click()
  const dialog = page.getByRole('dialog')
  assert.equal(await dialog.getByLabel('Variables').count(), 0, 'variables are for admins')
  await dialog.getByLabel('Shard parameters').fill('7=x')
  page.problems.expect(/answer: 422 POST .*trigger/)
  await dialog.getByRole('button', { name: 'Trigger now' }).click()
  await dialog.locator('.error').waitFor()
  await dialog.getByLabel('Shard parameters').fill('0=a')
  await dialog.getByLabel('Job parameter').fill('2026-05-01')
  await dialog.getByRole('button', { name: 'Trigger now' }).click()
  await dialog.waitFor({ state: 'detached' })
  const { rows } = await server.api('GET', '/api/audit?action=job.trigger&target=mine-quick&limit=1')
  assert.equal(rows[0].after.jobParameter, '2026-05-01')
})

scene('the message that a job was paused has a button to undo that', server, async ({ open, server }) => {
  const page = await open('/jobs/job/mine-failing', { as: 'operator' })
  await page.getByRole('button', { name: 'Pause', exact: true }).click()
  await page.getByText('Paused: no new runs start').waitFor()
  await page.getByRole('button', { name: 'Undo' }).click()
  await page.getByRole('button', { name: 'Pause', exact: true }).waitFor()
  const { state } = await server.api('GET', '/api/job/mine-failing/explain')
  assert.notEqual(state, 'PAUSED')
})

scene('disabling a job says what it kills; deleting a job asks for its name, and can be undone', server, async ({ open, server }) => {
  const page = await open('/jobs/job/mine-slow', { as: 'admin' })
  // The stream of changes may report the deletion before the answer to the request makes the console leave the page.
  page.problems.expect(/^answer: 404 GET \/api\/job\/(jobs\/)?mine-slow/)
  await page.getByRole('button', { name: 'More', exact: true }).click()
  await page.getByRole('menuitem', { name: 'Disable' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('Kills 2 running shards.').waitFor()
  await dialog.getByRole('button', { name: 'Disable' }).click()
  await page.getByText('Disabled: neither its cron').first().waitFor()
  const before = await server.api('GET', '/api/job/jobs/mine-slow')
  await page.getByRole('button', { name: 'More', exact: true }).click()
  await page.getByRole('menuitem', { name: 'Delete' }).click()
  const sure = dialog.getByRole('button', { name: 'Delete' })
  assert.ok(await sure.isDisabled())
  await dialog.getByLabel('Type mine-slow to go on').fill('mine-slow')
  await sure.click()
  await page.waitForURL('**/jobs')
  const all = await server.api('GET', '/api/job/jobs')
  assert.ok(!all.some((/** @type {any} */ j) => j.jobName === 'mine-slow'))
  await page.locator('.toast', { hasText: 'mine-slow was deleted' }).getByRole('button', { name: 'Undo' }).click()
  await until('it is there again, and disabled as it was', async () => {
    const found = (await server.api('GET', '/api/job/jobs')).find((/** @type {any} */ j) => j.jobName === 'mine-slow')
    return isDeepStrictEqual(found, before) && (await server.api('GET', '/api/job/mine-slow/explain')).state === 'DISABLED'
  })
})

scene('settings hide secrets, and changes are listed field by field', server, async ({ open, server }) => {
  await server.api('PUT', '/api/job/update', { jobName: 'mine-quick', maxRetries: 2 })
  const page = await open('/jobs/job/mine-quick?tab=settings', { as: 'viewer' })
  await page.getByText('DB_PASSWORD').first().waitFor()
  assert.ok(!(await page.content()).includes('hunter2'))
  await page.getByText(/^curl -X POST .*\/api\/job\/register$/).waitFor()
  await accessible(page)
  await page.getByRole('link', { name: 'Changes' }).click()
  await page.waitForURL(/tab=changes/)
  await page.getByRole('cell', { name: '2', exact: true }).waitFor()
  await page.getByRole('button', { name: 'Settings at that time' }).last().click()
  await page.getByRole('dialog').getByText('"jobName": "mine-quick"').waitFor()
  assert.ok(!(await page.getByRole('dialog').innerText()).includes('maxRetries'), 'settings before the change')
})

scene('a daemon’s page counts the runs of its shards', server, async ({ open }) => {
  const page = await open('/jobs/job/mine-daemon', { as: 'viewer' })
  const runs = page.getByRole('table', { name: 'Standing execution' })
  await until('a run is counted', async () => Number(await runs.locator('tbody tr').first().locator('td').nth(5).innerText()) > 0)
})

scene('a long parameter does not stretch the page of settings', server, async ({ open }) => {
  await server.job('mine-long', 'mine-app', { jobParameter: 'x'.repeat(200_000) })
  const page = await open('/jobs/job/mine-long?tab=settings', { as: 'admin' })
  await page.getByText(/x{1000}/).first().waitFor()
  assert.ok((await page.evaluate(() => document.documentElement.scrollHeight)) < 5000)
})
