// The list of executions, and the page of one.
import assert from 'node:assert/strict'
import { accessible } from './lib/browser.js'
import { scene, useServer } from './lib/scene.js'

/** @type {Record<string, string>} */
const ids = {}
const server = useServer({
  seed: async (s) => {
    await s.app('shop', `
case "$ELASTICJOB_SHARDING_PARAMETER" in
slow) echo '{"type":"progress","fraction":0.4,"message":"4 of 10"}' >&4; sleep 600;;
once) if [ "$ELASTICJOB_ATTEMPT" = 1 ]; then echo "not the first time" >&2; exit 3; fi;;
bad) echo "<b>broken</b>" >&2; exit 4;;
esac`)
    await s.job('retried', 'shop', { shardingTotalCount: 2, shardingItemParameters: '0=ok,1=once', maxRetries: 1 })
    await s.job('failing', 'shop', { shardingTotalCount: 3, shardingItemParameters: '0=ok,1=bad,2=ok' })
    await s.job('slow', 'shop', { shardingTotalCount: 3, shardingItemParameters: '0=slow,1=slow,2=slow' })
    await s.job('large', 'shop', { cpuCount: 64 })
    await s.job('many', 'shop', { shardingTotalCount: 200, cpuCount: 0.001, memoryMB: 1 })
    ids.retried = (await s.run('retried', 'FINISHED')).executionId
    ids.first = (await s.run('failing', 'FAILED')).executionId
    ids.second = (await s.run('failing', 'FAILED')).executionId
    ids.slow = (await s.run('slow', 'RUNNING')).executionId
    ids.large = (await s.api('POST', '/api/job/large/trigger')).executionId
  },
})
const at = (/** @type {string} */ name) => `/executions/execution/${encodeURIComponent(ids[name])}`

scene('the list has filters, and the address contains them', server, async ({ open }) => {
  const page = await open('/executions')
  await page.getByRole('link', { name: 'large' }).waitFor()
  await page.getByRole('button', { name: 'Failed' }).click()
  await page.waitForURL(/state=FAILED/)
  await page.getByRole('link', { name: 'large' }).waitFor({ state: 'detached' })
  await page.getByRole('link', { name: 'failing' }).first().waitFor()
  await page.getByLabel('Name of a job').fill('retried')
  await page.keyboard.press('Enter')
  await page.getByText('No matching executions').waitFor()
  await page.getByRole('button', { name: 'Show all' }).click()
  await page.getByRole('link', { name: 'retried' }).waitFor()
  await accessible(page)
})

scene('new executions appear by themselves, but wait while the pointer is on the list', server, async ({ open, server }) => {
  const page = await open('/executions?job=retried')
  const rows = page.locator('tbody tr')
  await rows.first().waitFor()
  const before = await rows.count()
  await rows.first().hover()
  await server.run('retried', 'FINISHED')
  await page.getByRole('button', { name: /1 new/ }).click()
  await rows.nth(before).waitFor()
})

scene('a shard that was run again shows both attempts', server, async ({ open }) => {
  const page = await open(at('retried'))
  const row = page.getByRole('img', { name: /^Shard 1: .*Failed: ran .*attempt 1.*not the first time.*Finished: ran .*attempt 2/ })
  await row.waitFor()
  await page.getByRole('button', { name: 'Details of shard 1' }).click()
  await page.locator('.attempts li').nth(1).getByText('not the first time').waitFor()
  assert.equal(await page.locator('.attempts').getByRole('link', { name: 'Log' }).count(), 2)
  await accessible(page)
})

scene('the page of an execution says what the execution waits for', server, async ({ open }) => {
  const page = await open(at('large'))
  await page.getByRole('heading', { name: 'Waiting for' }).first().waitFor()
  await page.getByRole('img', { name: /^Shard 0: waited .* no agent can ever hold/ }).waitFor()
})

scene('the time line is zoomed by dragging, and the address contains the zoom', server, async ({ open }) => {
  const page = await open(at('retried')) // this execution pauses before its retry; a few milliseconds could not be zoomed
  const scale = page.locator('.line-scale')
  await scale.waitFor()
  const box = await scale.boundingBox()
  assert.ok(box)
  await page.mouse.move(box.x + box.width * 0.25, box.y + 40)
  await page.mouse.down()
  await page.mouse.move(box.x + box.width * 0.5, box.y + 40, { steps: 4 })
  await page.mouse.up()
  await page.waitForURL(/zoom=\d+-\d+/)
  await page.getByRole('button', { name: 'All of it' }).click()
  await page.waitForURL((url) => !url.search)
})

scene('[ and ] lead to the job’s executions before and after', server, async ({ open }) => {
  const page = await open(at('first'))
  await page.getByRole('heading', { level: 1, name: ids.first }).waitFor()
  await page.locator('.line-row').first().waitFor()
  await page.keyboard.press(']')
  await page.getByRole('heading', { level: 1, name: ids.second }).waitFor()
  await page.locator('.line-row').first().waitFor()
  await page.keyboard.press(']')
  await page.getByText('This is the job’s newest execution.').waitFor()
  await page.keyboard.press('[')
  await page.getByRole('heading', { level: 1, name: ids.first }).waitFor()
})

scene('one shard is killed, then the execution; both dialogs say what will happen', server, async ({ open }) => {
  const page = await open(at('slow'))
  const shards = page.getByRole('table', { name: 'Shards' })
  await shards.getByText('4 of 10').first().waitFor()
  await shards.getByRole('row').nth(1).getByRole('button', { name: 'Kill' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('Kill shard 0?').waitFor()
  await dialog.getByRole('button', { name: 'Kill' }).click()
  await shards.getByText('Killed').first().waitFor()
  await page.getByRole('button', { name: 'Kill', exact: true }).first().click()
  await dialog.getByText('This kills 2 running shards.').waitFor()
  await dialog.getByRole('button', { name: 'Kill' }).click()
  await page.getByRole('heading', { level: 1 }).locator('..').getByText('Killed').waitFor()
  await accessible(page)
})

scene('an execution is run again', server, async ({ open }) => {
  const page = await open(at('second'))
  await page.getByText('<b>broken</b>').first().waitFor()
  await page.getByRole('button', { name: 'Run again', exact: true }).click()
  await page.getByRole('link', { name: 'Show it' }).click()
  await page.waitForURL((url) => url.pathname !== at('second'))
  await page.getByRole('heading', { level: 1, name: /^failing@/ }).waitFor()
})

scene('of hundreds of shards, only the visible ones are drawn', server, async ({ open, server }) => {
  const { executionId } = await server.run('many', 'FINISHED')
  const page = await open(`/executions/execution/${encodeURIComponent(executionId)}`)
  await page.getByText('200 shards').waitFor()
  assert.ok((await page.locator('.line-row').count()) < 40)
  assert.equal(await page.getByRole('table', { name: 'Shards' }).locator('tbody').count(), 50)
  await page.locator('.line-box').evaluate((box) => box.scrollTo(0, box.scrollHeight))
  await page.getByRole('link', { name: '199', exact: true }).waitFor()
})
