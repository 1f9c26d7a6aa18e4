// The history and its searches, as in the original.
import assert from 'node:assert/strict'
import { accessible } from './lib/browser.js'
import { scene, useServer } from './lib/scene.js'
import { until } from './lib/until.js'

const server = useServer({
  seed: async (s) => {
    await s.app('well', 'echo well')
    await s.app('ill', 'echo "a cause of several lines" >&2; echo "and the second one" >&2; exit 3')
    await s.job('well', 'well', { shardingTotalCount: 2 })
    await s.job('ill', 'ill')
    for (let i = 0; i < 30; i++) await s.run('well', 'FINISHED')
    await s.run('ill', 'FAILED')
    await until('all is recorded', async () => (await s.api('GET', '/api/job/events/executions?per_page=1')).total === 61)
  },
})

const rows = (/** @type {import('playwright-core').Page} */ page) => page.locator('tbody tr')

scene('runs are searched, sorted, and paged, all in the address', server, async ({ open }) => {
  const page = await open('/history')
  await page.getByText('1 to 50 of 61').waitFor()
  await accessible(page)
  await page.getByRole('button', { name: 'Next' }).click()
  await page.getByText('51 to 61 of 61').waitFor()
  await page.goBack()
  await page.getByText('1 to 50 of 61').waitFor()
  await page.getByLabel('Result').selectOption('false')
  await page.getByText('1 to 1 of 1').waitFor()
  await page.getByRole('button', { name: /exit status 3/ }).click()
  await page.getByRole('dialog').getByText('and the second one').waitFor()
  await accessible(page)
  await page.keyboard.press('Escape')
  await page.reload()
  await page.getByText('1 to 1 of 1').waitFor()
  await page.getByRole('button', { name: 'Clear filters' }).click()
  await page.getByText('1 to 50 of 61').waitFor()
  await page.getByRole('columnheader', { name: 'Job' }).getByRole('button').click()
  await rows(page).first().getByRole('link', { name: 'ill', exact: true }).waitFor()
  assert.match(page.url(), /sort=jobName&order=ASC/)
  await rows(page).first().getByRole('link', { name: 'Output' }).click()
  await page.getByText('stderr', { exact: true }).waitFor()
})

scene('changes of states are searched, too', server, async ({ open }) => {
  const page = await open('/history?tab=traces&jobName=ill')
  await page.getByRole('row', { name: /Failed/ }).first().waitFor()
  await page.getByLabel('State', { exact: true }).selectOption('TASK_FAILED')
  await page.getByText('1 to 1 of 1').waitFor()
  await page.getByLabel('From', { exact: true }).fill('2100-01-01T00:00')
  await page.getByRole('heading', { name: 'No matching records' }).waitFor()
  assert.match(page.url(), /startTime=2099-12-31T23%3A00%3A00Z/) // the filter is in the zone in which the rows are shown
})

scene('filters stand in one row; the rare ones are folded away, unless the address has one of them', server, async ({ open }) => {
  for (const tab of ['executions', 'traces']) {
    const page = await open(`/history?tab=${tab}`, { width: 1280 })
    const more = page.getByRole('button', { name: 'More filters', exact: true })
    await more.waitFor()
    const ends = await page.locator('.filters').first().locator('> *').evaluateAll((all) => all.map((e) => Math.round(e.getBoundingClientRect().bottom)))
    assert.equal(ends.length, 5)
    assert.equal(new Set(ends).size, 1, `one row: ${ends}`)
    const task = page.getByLabel('Task', { exact: true })
    assert.ok(!(await task.isVisible()))
    await more.click()
    await task.fill('none is called so')
    await page.getByRole('heading', { name: 'No matching records' }).waitFor()
    await page.getByRole('button', { name: 'More filters (1 set)' }).waitFor()
    await page.reload()
    await task.waitFor()
    await accessible(page)
    await page.getByRole('button', { name: 'Clear filters' }).click()
    await more.waitFor()
  }
})

scene('statistics are numbers, shares and charts', server, async ({ open }) => {
  const page = await open('/history?tab=statistics')
  await page.getByText('Finished 60 · Failed 1').first().waitFor()
  await page.getByRole('link', { name: 'Transient 2' }).waitFor()
  await page.getByRole('img', { name: /^Results in 5 minutes/ }).waitFor()
  await accessible(page)
})

scene('without a history, the page says how to configure one', server, async ({ open }) => {
  const page = await open('/')
  page.problems.expect(/^answer: 503 GET \/api\/job\/events\//)
  await page.route('**/api/job/events/**', (route) => route.fulfill({ status: 503, json: { error: { code: 'no_history', message: 'there is no history' } } }))
  await page.goto('/history')
  await page.getByRole('heading', { name: 'There is no history' }).waitFor()
  await page.getByText('--db', { exact: false }).first().waitFor()
})
