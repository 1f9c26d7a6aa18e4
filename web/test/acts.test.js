// Actions on any page: each happens once, and has a curl command that does the same.
import assert from 'node:assert/strict'
import { scene, useServer } from './lib/scene.js'
import { until } from './lib/until.js'

const server = useServer({
  seed: async (s) => {
    await s.app('billing', 'echo "shard $ELASTICJOB_SHARDING_ITEM says: $ELASTICJOB_JOB_PARAMETER"')
    await s.job('invoices', 'billing', { cron: '0 0 3 * * ?', jobParameter: 'yesterday', shardingTotalCount: 2 })
    await s.job('to-trigger-twice', 'billing')
  },
})

const heading = (/** @type {import('playwright-core').Page} */ page, /** @type {string | RegExp} */ name) => page.getByRole('heading', { level: 1, name }).waitFor()

scene('a job is triggered, and its output read', server, async ({ open }) => {
  const page = await open('/jobs/job/invoices')
  await page.getByRole('button', { name: 'Trigger now', exact: true }).click()
  await page.getByRole('link', { name: 'Show it' }).click()
  await heading(page, /^invoices@/)
  await page.locator('main').getByText('Finished').first().waitFor()
  const id = decodeURIComponent(new URL(page.url()).pathname.split('/')[3])
  const { shards } = await server.api('GET', `/api/execution/${encodeURIComponent(id)}`)
  await page.goto(`/tasks/task/${encodeURIComponent(shards[1].taskId)}/log`)
  await page.getByText('shard 1 says: yesterday').waitFor()
})

scene('two clicks trigger once', server, async ({ open }) => {
  const page = await open('/jobs/job/to-trigger-twice')
  await page.route('**/trigger', async (route) => {
    await until('the second click', () => page.evaluate(() => 'clicked' in window))
    await route.continue()
  })
  const button = page.getByRole('button', { name: 'Trigger now', exact: true })
  await button.click()
  await button.dispatchEvent('click')
  await page.evaluate(() => Object.assign(window, { clicked: true }))
  await page.getByRole('link', { name: 'Show it' }).waitFor()
  const executions = await server.api('GET', '/api/job/to-trigger-twice/executions')
  assert.equal(executions.length ?? executions.executions.length, 1)
})

scene('each act has its curl line', server, async ({ open }) => {
  const page = await open('/jobs/job/invoices')
  await page.getByRole('button', { name: 'Show the curl line: Trigger now' }).click()
  await page.getByRole('dialog').getByText(`curl -X POST ${server.url}/api/job/invoices/trigger`).waitFor()
})
