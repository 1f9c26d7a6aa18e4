// The list of jobs: empty and with many jobs, its search, and the actions on jobs.
import assert from 'node:assert/strict'
import { accessible } from './lib/browser.js'
import { scene, useServer } from './lib/scene.js'
import { until } from './lib/until.js'
import { drawn } from './lib/views.js'

const empty = useServer()

const server = useServer({
  people: true,
  seed: async (s) => {
    await s.app('batch', 'sleep 300')
    await s.app('mine-batch', 'exit 3')
    await s.job('mine-fails', 'mine-batch', { description: 'for <b>accounting</b>' })
    await s.job('long', 'batch', { shardingTotalCount: 2 })
    await s.job('nightly', 'batch', { cron: '0 0 3 * * ?', timeZone: 'Europe/Berlin' })
    for (const i of [1, 2, 3, 4, 5, 6]) await s.job(`many-${i}`, 'batch', { cron: '0 0 4 * * ?' })
  },
})

/** @param {import('./lib/browser.js').Page} page */
const names = (page) => page.locator('tbody tr td:nth-child(2)').allInnerTexts()

/** @param {import('./lib/browser.js').Page} page @param {string} name */
const row = (page, name) => page.getByRole('row').filter({ has: page.getByRole('link', { name, exact: true }) })

scene('without jobs, the console shows the first steps instead of charts, and one button does them all', empty, async ({ open, server: s }) => {
  const page = await open('/')
  await page.getByRole('heading', { name: 'Get started' }).waitFor()
  await page.getByRole('link', { name: 'Publish an app' }).waitFor()
  await drawn(page)
  for (const other of [page.locator('.chart'), page.locator('.cards'), page.locator('.density'), page.locator('.problem-list')]) assert.equal(await other.count(), 0)
  await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Jobs' }).click()
  await page.getByRole('heading', { name: 'No jobs yet' }).waitFor()
  const button = page.getByRole('button', { name: 'Publish and run the example' })
  await button.waitFor()
  const lines = await page.locator('.curl pre').allInnerTexts()
  assert.deepEqual(lines.map((line) => /^curl -X POST .*(\/api\/[a-z/]+)$/.exec(line)?.[1]), ['/api/app', '/api/job/register', '/api/job/hello/trigger'])
  await accessible(page)
  await button.click()
  await page.waitForURL(/\/jobs\/job\//)
  assert.equal((await s.api('GET', '/api/job/jobs')).length, 1)
  assert.equal((await s.api('GET', '/api/executions')).length, 1)
  await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Overview' }).click()
  await page.locator('.chart').first().waitFor()
  assert.equal(await page.getByRole('heading', { name: 'Get started' }).count(), 0)
})

scene('jobs are filtered while typing, and by state, app and type; the address contains the filters', server, async ({ open }) => {
  const page = await open('/jobs', { as: 'admin' })
  await until('all are there', async () => (await names(page)).length === 9)
  await page.getByRole('searchbox').fill('MANY')
  await until('six are found', async () => (await names(page)).length === 6)
  await page.getByRole('button', { name: 'Job', exact: false }).and(page.locator('th button')).first().click()
  await until('sorted the other way', async () => (await names(page))[0] === 'many-6')
  assert.equal(new URL(page.url()).search, '?search=MANY&sort=name&order=DESC')
  await page.reload()
  await until('the address says it all', async () => (await names(page)).join() === 'many-6,many-5,many-4,many-3,many-2,many-1')
  await page.getByRole('searchbox').fill('nothing like this')
  await page.getByRole('button', { name: 'Clear the filters' }).click()
  await until('all are back', async () => (await names(page)).length === 9)
  await page.getByRole('combobox', { name: 'App' }).selectOption('mine-batch')
  await until('one is of that app', async () => (await names(page)).join() === 'mine-fails')
  await page.getByText('for <b>accounting</b>').waitFor() // a description is text
  await page.getByRole('combobox', { name: 'App' }).selectOption('')
  await page.getByRole('button', { name: /^On trigger/ }).click()
  await until('those without a cron', async () => [...(await names(page))].sort().join() === 'long,mine-fails')
  await accessible(page)
})

scene('a job is triggered, its row shows the run, and disabling the job says what that kills', server, async ({ open, server: s }) => {
  const page = await open('/jobs', { as: 'operator' })
  await row(page, 'long').hover()
  await row(page, 'long').getByRole('button', { name: 'Trigger now: long' }).click()
  await page.getByText('long was triggered').waitFor()
  await row(page, 'long').getByText('Running 2').waitFor()
  await row(page, 'long').getByRole('button', { name: 'More for long' }).click()
  await page.getByRole('menuitem', { name: 'Disable' }).waitFor()
  assert.deepEqual(await page.getByRole('menuitem').allInnerTexts(), ['Disable', 'Shut down'], 'an operator changes no settings')
  await page.getByRole('menuitem', { name: 'Disable' }).click()
  await page.getByRole('dialog').getByText('Kills 2 running shards.').waitFor()
  await accessible(page)
  await page.getByRole('dialog').getByRole('button', { name: 'Disable' }).click()
  await row(page, 'long').getByText('Disabled').waitFor()
  await page.getByRole('button', { name: 'Undo' }).last().click()
  await until('it is enabled again', async () => (await s.api('GET', '/api/job/long/disable')) === false)
})

scene('several jobs are paused at once, and that is undone; several jobs are deleted', server, async ({ open, server: s }) => {
  const page = await open('/jobs?search=many', { as: 'admin' })
  await until('six are there', async () => (await names(page)).length === 6)
  await page.getByRole('checkbox', { name: 'Select all on this page' }).check()
  const bar = page.getByRole('region', { name: '6 jobs selected' })
  await bar.getByRole('button', { name: 'Pause' }).click()
  await page.getByRole('button', { name: 'Pause: 6 jobs' }).click()
  await page.getByText('Pause: 6 jobs done').waitFor()
  await page.getByRole('button', { name: /^Paused 6/ }).waitFor()
  await page.getByRole('button', { name: 'Undo' }).click()
  await page.getByRole('button', { name: /^Ready 6/ }).waitFor()
  await bar.getByRole('button', { name: 'Clear the selection' }).click()
  await page.keyboard.press('j')
  await page.keyboard.press('x')
  await page.keyboard.press('j')
  await page.keyboard.press('x')
  await page.getByRole('region', { name: '2 jobs selected' }).getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('dialog').getByRole('listitem').last().waitFor()
  assert.deepEqual(await page.getByRole('dialog').getByRole('listitem').allInnerTexts(), ['many-1', 'many-2'])
  await page.getByRole('button', { name: 'Delete: 2 jobs' }).click()
  await until('they are gone', async () => (await names(page)).length === 4)
  assert.equal((await s.api('GET', '/api/job/jobs')).length, 7)
})

scene('deleting a job asks for its name', server, async ({ open, server: s }) => {
  await s.job('doomed', 'batch', {})
  const page = await open('/jobs?search=doomed', { as: 'admin' })
  await row(page, 'doomed').hover()
  await row(page, 'doomed').getByRole('button', { name: 'More for doomed' }).click()
  await page.getByRole('menuitem', { name: 'Delete' }).click()
  const dialog = page.getByRole('dialog')
  assert.ok(await dialog.getByRole('button', { name: 'Delete' }).isDisabled())
  await dialog.getByRole('textbox').fill('doomed')
  await dialog.getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('heading', { name: 'No matching jobs' }).waitFor()
})

scene('columns are chosen, and remembered', server, async ({ open }) => {
  const page = await open('/jobs', { as: 'viewer' })
  assert.equal(await page.getByRole('link', { name: 'Register a job' }).count(), 0, 'a viewer registers none')
  await page.getByRole('button', { name: 'Columns' }).click()
  await page.getByRole('checkbox', { name: 'Cron' }).uncheck()
  await page.getByRole('checkbox', { name: 'Type' }).check()
  await page.reload()
  await page.getByRole('columnheader', { name: 'Type' }).waitFor()
  assert.equal(await page.getByRole('columnheader', { name: 'Cron' }).count(), 0)
  assert.equal(await page.getByRole('button', { name: /^More for/ }).count(), 0, 'a viewer changes no job')
})

scene('a user with a role for some apps sees only their jobs', server, async ({ open }) => {
  const page = await open('/jobs', { as: 'mine' })
  await until('one job', async () => (await names(page)).join() === 'mine-fails')
  await page.getByRole('button', { name: 'Trigger now: mine-fails' }).focus()
  await page.keyboard.press('Enter')
  await row(page, 'mine-fails').getByRole('link', { name: 'Failed', exact: true }).waitFor()
  assert.match((await row(page, 'mine-fails').locator('.runs a').getAttribute('title')) ?? '', /^✕ Failed, fired /)
})
