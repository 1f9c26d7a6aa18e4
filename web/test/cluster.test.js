// The page of the cluster.
import assert from 'node:assert/strict'
import { accessible } from './lib/browser.js'
import { scene, useServer } from './lib/scene.js'

/** @type {any} */
let running
const server = useServer({
  seed: async (s) => {
    await s.app('import', `echo '{"type":"progress","fraction":0.4,"message":"4000 of 10000 orders"}' >&4; sleep 3600`)
    await s.job('order-import', 'import', { shardingTotalCount: 2 })
    running = await s.run('order-import', 'RUNNING')
  },
})

scene('agents are shown with their tasks, the progress of these, and their executors', server, async ({ open }) => {
  const page = await open('/cluster')
  const agents = page.getByRole('region', { name: 'Agents' })
  const agent = agents.getByRole('row').nth(1)
  await agent.getByText('Registered').waitFor()
  await page.getByText(/Subscribed$/).first().waitFor()
  await page.getByRole('region', { name: 'Executors' }).getByRole('link', { name: 'import', exact: true }).waitFor()
  await accessible(page)
  await agents.getByLabel('Filter by host or id').fill('no such host')
  await page.getByRole('heading', { name: 'No agent matches “no such host”' }).waitFor()
  assert.match(page.url(), /search=no\+such\+host/)
  await page.getByRole('button', { name: 'Show all agents' }).click()
  await agent.getByRole('link').first().click()
  const here = page.getByRole('region', { name: 'Running here' })
  await here.getByText('4000 of 10000 orders').first().waitFor()
  assert.equal(await here.getByRole('link', { name: 'order-import', exact: true }).count(), 2)
  await accessible(page)
  await here.getByRole('link', { name: 'Output' }).first().click()
  await page.getByRole('heading', { level: 1, name: /^Output: shard \d$/ }).waitFor()
  await page.goBack()
  await here.getByRole('link', { name: running.executionId }).first().click()
  await page.waitForURL(/\/executions\/execution\//)
})

scene('agents are named after their hosts, with the id on hover, and its end if they share one', server, async ({ open, server: s }) => {
  const [{ id }] = (await s.api('GET', '/api/cluster')).agents
  const page = await open('/jobs')
  /** @type {{id: string, hostname: string}[]} */
  let others = []
  await page.route('**/api/cluster?*', async (route) => {
    const cluster = await (await route.fetch()).json()
    await route.fulfill({ json: { ...cluster, agents: [{ ...cluster.agents[0], hostname: 'node-1' }, ...others.map((o) => ({ ...cluster.agents[0], ...o }))] } })
  })
  const called = async (/** @type {string} */ path, /** @type {string} */ name) => {
    await page.goto(new URL(path, page.url()).href)
    const link = page.getByRole('main').getByRole('link', { name, exact: true }).first()
    assert.equal(await link.getAttribute('title'), id, path)
  }
  const places = ['/cluster', `/executions/execution/${encodeURIComponent(running.executionId)}`, '/history?tab=traces']
  for (const path of places) await called(path, 'node-1')
  others = [{ id: 'another-S9', hostname: 'node-1' }]
  for (const path of places) await called(path, `node-1 (${id.slice(id.lastIndexOf('-') + 1)})`)
})

scene('a machine is cordoned with a reason, is listed with it, and is used again', server, async ({ open, server: s }) => {
  const page = await open('/cluster')
  const agent = page.getByRole('region', { name: 'Agents' }).getByRole('row').nth(1)
  await agent.getByRole('link').first().click()
  await page.getByRole('button', { name: 'Cordon' }).click()
  const dialog = page.getByRole('dialog')
  assert.ok(await dialog.getByRole('button', { name: 'Cordon' }).isDisabled())
  await dialog.getByLabel('Reason').fill('its disk fails')
  await dialog.getByLabel('Ends').selectOption({ label: 'in 1 day' })
  await accessible(page)
  await dialog.getByRole('button', { name: 'Cordon' }).click()
  await page.getByText('Nothing new is placed there.').waitFor()
  await page.getByText(/^cordoned since .*: its disk fails \(until /).waitFor()
  const [{ cordon }] = (await s.api('GET', '/api/cluster')).machines
  const hours = (Date.parse(cordon.until) - Date.parse(cordon.since)) / 3_600_000
  assert.ok(hours > 23.9 && hours <= 24, `it ends after ${hours} hours`)
  await page.goto(new URL('/cluster', page.url()).href)
  await agent.getByText('Cordoned').first().waitFor()
  const machines = page.getByRole('region', { name: 'Cordoned machines' })
  await machines.getByText('its disk fails').waitFor()
  await accessible(page)
  await machines.getByRole('button', { name: 'Uncordon', exact: true }).click()
  await page.getByText('It is used again.').waitFor()
  await agent.getByText('Registered').waitFor()
  assert.equal(await machines.count(), 0)
})

scene('a machine drains, shows which tasks are left, and gets another deadline', server, async ({ open, server: s }) => {
  const page = await open('/cluster')
  const agent = page.getByRole('region', { name: 'Agents' }).getByRole('row').nth(1)
  await agent.getByRole('link').first().click()
  await page.getByRole('button', { name: 'Drain', exact: true }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Reason').fill('kernel update')
  await dialog.getByLabel('Deadline').selectOption({ label: 'in 4 hours' })
  await accessible(page)
  await dialog.getByRole('button', { name: 'Drain', exact: true }).click()
  await page.getByText('The machine is being emptied.').waitFor()
  await page.getByText(/kernel update; draining, 2 left/).first().waitFor()
  await page.goto(new URL('/cluster', page.url()).href)
  await agent.getByText('Draining').first().waitFor()
  const machines = page.getByRole('region', { name: 'Cordoned machines' })
  await machines.getByText(/it runs, and may finish until/).first().waitFor()
  await accessible(page)
  const drain = async () => (await s.api('GET', '/api/cluster')).machines[0].cordon.drain
  const { deadline } = await drain()
  const change = async (/** @type {() => Promise<unknown>} */ fill) => {
    await machines.getByRole('button', { name: 'Change drain', exact: true }).click()
    assert.equal(await dialog.getByLabel('Reason').inputValue(), 'kernel update')
    await fill()
    await accessible(page)
    await dialog.getByRole('button', { name: 'Change drain', exact: true }).click()
    await dialog.waitFor({ state: 'detached' })
  }
  await change(async () => {})
  const kept = (await drain()).deadline
  assert.ok(Math.abs(Date.parse(kept) - Date.parse(deadline)) < 5000, `${deadline} became ${kept}`)
  await change(() => dialog.getByLabel('Deadline').selectOption({ label: 'none' }))
  assert.equal((await drain()).deadline, null)
  await machines.getByRole('button', { name: 'Uncordon', exact: true }).click()
  await agent.getByText('Registered').waitFor()
})

// Its agent is unknown to the page only.
scene('a cordoned machine whose agent is not known any more can be drained and declared dead', server, async ({ open, server: s }) => {
  const [{ hostname }] = (await s.api('GET', '/api/cluster')).agents
  await s.api('POST', `/api/agent/${encodeURIComponent(hostname)}/cordon`, { reason: 'its disk fails' })
  const page = await open('/')
  page.problems.expect(/^answer: 409 POST \/api\/agent\/.*\/dead/)
  await page.route('**/api/cluster?*', async (route) => {
    const cluster = await (await route.fetch()).json()
    const machines = cluster.machines.map((/** @type {object} */ m) => ({ ...m, agents: [] }))
    await route.fulfill({ json: { ...cluster, agents: [], machines } })
  })
  await page.goto('/cluster')
  const machines = page.getByRole('region', { name: 'Cordoned machines' })
  await machines.getByText('not seen').waitFor()
  await machines.getByRole('button', { name: 'Declare dead' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('button', { name: 'Declare dead' }).click()
  await dialog.getByRole('alert').getByText('was heard').waitFor()
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  await machines.getByRole('button', { name: 'Drain', exact: true }).click()
  await dialog.getByRole('button', { name: 'Drain', exact: true }).click()
  await machines.getByText(/its disk fails; draining, 2 left/).first().waitFor()
  await machines.getByRole('button', { name: 'Uncordon', exact: true }).click()
  await page.getByText('It is used again.').waitFor()
})

scene('a machine heard from a moment ago is declared dead only after a second confirmation', server, async ({ open, server: s }) => {
  const page = await open('/cluster')
  page.problems.expect(/^answer: 409 POST \/api\/agent\/.*\/dead/)
  await page.getByRole('region', { name: 'Agents' }).getByRole('row').nth(1).getByRole('link').first().click()
  await page.getByRole('button', { name: 'Declare dead' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Reason (optional)').fill('burnt')
  await dialog.getByRole('button', { name: 'Declare dead' }).click()
  await dialog.getByRole('alert').getByText('was heard').waitFor()
  await accessible(page)
  await dialog.getByRole('button', { name: 'Declare dead anyway' }).click()
  await page.getByText('Attempts over: 2.').waitFor()
  await page.getByText(/^declared dead at .*: burnt$/).first().waitFor()
  assert.equal(await page.getByRole('button', { name: 'Declare dead' }).count(), 0)
  const [{ machine }] = (await s.api('GET', '/api/cluster')).machines
  await page.getByRole('button', { name: 'Uncordon', exact: true }).click()
  await page.getByText('It is used again.').waitFor()
  assert.ok(machine)
  running = await s.run('order-import', 'RUNNING')
})

// There is no Kubernetes in this test. The page is told that there is.
scene('on Kubernetes there are neither executors nor a master', server, async ({ open }) => {
  const page = await open('/jobs')
  await page.route('**/api/schema/app', async (route) => {
    const schema = await (await route.fetch()).json()
    await route.fulfill({ json: { ...schema, properties: { ...schema.properties, image: { type: 'string' } } } })
  })
  await page.goto(new URL('/cluster', page.url()).href)
  const agents = page.getByRole('region', { name: 'Agents' })
  await agents.getByText('Registered').first().waitFor()
  await page.getByText('Framework', { exact: true }).waitFor()
  const absent = async () => {
    assert.equal(await page.getByRole('region', { name: 'Executors' }).count(), 0)
    assert.equal(await page.getByText('Master', { exact: true }).count(), 0)
  }
  await absent()
  await agents.getByRole('row').nth(1).getByRole('link').first().click()
  await page.getByRole('region', { name: 'Running here' }).getByText('4000 of 10000 orders').first().waitFor()
  await absent()
})

scene('tasks are reconciled, and not too often', server, async ({ open }) => {
  const page = await open('/cluster')
  page.problems.expect(/^answer: 429 POST \/api\/operate\/reconcile\//)
  await page.getByRole('button', { name: 'Reconcile', exact: true }).click()
  await page.getByText('Requested. Differences are corrected').waitFor()
  await page.getByRole('button', { name: 'Reconcile all (implicit)' }).click()
  await page.getByText(/^Again in \d+ s$/).waitFor()
  assert.ok(await page.getByRole('button', { name: 'Reconcile', exact: true }).isDisabled())
})

scene('faulty documents are listed with what to do', server, async ({ open }) => {
  const page = await open('/')
  await page.route('**/api/operate/faulty', (route) => route.fulfill({ json: [{ path: '/elasticjob-cloud/config/job/broken', kind: 'job', name: 'broken', reason: 'its jobName is "other"', since: new Date().toISOString(), lastGood: false }] }))
  await page.goto('/cluster#faulty')
  const faulty = page.getByRole('region', { name: 'Faulty documents' })
  await faulty.getByRole('link', { name: 'broken', exact: true }).waitFor()
  await faulty.getByText('Correct each in the registry').waitFor()
  await faulty.getByText('none: waiting runs keep waiting').waitFor()
  await accessible(page)
})
