// Logins, and what each role may see and do.
import assert from 'node:assert/strict'
import { accessible } from './lib/browser.js'
import { demo } from './lib/demo.js'
import { scene, useServer } from './lib/scene.js'
import { password } from './lib/server.js'
import { drawn, views } from './lib/views.js'

/** @type {import('./lib/demo.js').Demo} */
let seeded
const server = useServer({
  seed: async (s) => {
    seeded = await demo(s)
    await s.app('mine-app', 'echo')
    await s.job('mine-job', 'mine-app')
    await s.addPeople()
  },
})

scene('a user logs in on the page that was requested, and logs out', server, async ({ open }) => {
  const page = await open('/cluster')
  page.problems.expect(/^answer: 401 /) // also for requests that are in progress at the logout
  await page.getByRole('heading', { level: 1, name: 'Log in' }).waitFor()
  await accessible(page)
  await page.getByLabel('User').fill('viewer')
  await page.getByLabel('Password').fill('a wrong one')
  await page.keyboard.press('Enter')
  await page.getByRole('alert').waitFor()
  await page.getByLabel('Password').fill(password)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { level: 1, name: 'Cluster' }).waitFor()
  assert.equal(await page.evaluate(() => document.cookie), '')
  await page.getByText('viewer · viewer').waitFor()
  await page.getByRole('button', { name: 'Log out' }).click()
  await page.getByRole('heading', { level: 1, name: 'Log in' }).waitFor()
  await page.reload()
  await page.getByRole('heading', { level: 1, name: 'Log in' }).waitFor()
})

scene('a login that ends is noticed', server, async ({ open }) => {
  const page = await open('/jobs', { as: 'operator' })
  page.problems.expect(/^answer: 401 /)
  await page.getByRole('heading', { level: 1, name: 'Jobs' }).waitFor()
  await server.api('DELETE', '/api/users/operator/logins')
  // The next request notices the logout. If that is the stream of changes, the link is hidden before it is followed.
  await page.getByRole('link', { name: 'Cluster', includeHidden: true }).evaluate((a) => /** @type {HTMLElement} */ (a).click())
  await page.getByRole('heading', { level: 1, name: 'Log in' }).waitFor()
})

scene('a logout, or a login as another user, applies to all tabs', server, async ({ open }) => {
  const one = await open('/jobs', { as: 'operator' })
  const other = await open('/jobs', { beside: one })
  for (const page of [one, other]) {
    page.problems.expect(/^answer: 401 /)
    await page.getByText('operator · operator').waitFor()
  }
  await one.context().request.post('/api/session', { data: { username: 'viewer', password }, headers: { Origin: server.url } })
  await one.reload()
  for (const page of [one, other]) await page.getByText('viewer · viewer').waitFor()
  await one.getByRole('button', { name: 'Log out' }).click()
  for (const page of [one, other]) await page.getByRole('heading', { level: 1, name: 'Log in' }).waitFor()
  await one.getByLabel('User').fill('operator')
  await one.getByLabel('Password').fill(password)
  await one.keyboard.press('Enter')
  await one.getByText('operator · operator').waitFor()
  await other.evaluate(() => document.dispatchEvent(new Event('visibilitychange'))) // as if the user switched to that tab
  await other.getByText('operator · operator').waitFor()
})

scene('text in a form survives the end of the session, but only for the same user', server, async ({ open }) => {
  const enter = async (/** @type {string} */ name) => {
    await page.getByLabel('User').fill(name)
    await page.getByLabel('Password').fill(password)
    await page.keyboard.press('Enter')
  }
  const page = await open('/jobs/new', { as: 'admin' })
  page.problems.expect(/^answer: (401|422) /)
  const description = page.getByLabel('Description', { exact: false })
  await description.fill('what was typed')
  for (const [name, left] of [['admin', 'what was typed'], ['viewer', '']]) {
    await page.context().clearCookies()
    // The next request notices that the session has ended, and the button is hidden then. The test presses it in any case.
    await page.getByRole('button', { name: 'Register', includeHidden: true }).evaluate((b) => /** @type {HTMLElement} */ (b).click())
    await page.getByRole('heading', { level: 1, name: 'Log in' }).waitFor()
    await enter(name)
    await page.getByRole('heading', { level: 1, name: 'Register a job' }).waitFor()
    if (left) assert.equal(await description.inputValue(), left)
    else await page.getByText('You can view this, but not change it').waitFor()
  }
  assert.equal((await page.content()).includes('what was typed'), false)
})

const pages = ['overview', 'apps', 'app', 'jobs', 'job', 'job-failing', 'executions', 'execution-running', 'execution-failed', 'log', 'cluster', 'agent', 'history']

for (const as of /** @type {const} */ (['viewer', 'operator'])) {
  scene(`the server rejects no request of the pages that the ${as} sees`, server, async ({ open }) => {
    const page = await open('/', { as })
    await drawn(page)
    for (const name of ['Audit', 'Users', 'Tokens']) assert.equal(await page.getByRole('link', { name, exact: true }).count(), 0, name)
    for (const name of pages) {
      await page.goto(views(seeded)[name])
      await drawn(page)
      page.problems.check()
    }
  })
}

scene('no button that a viewer sees changes anything', server, async ({ open }) => {
  const page = await open('/', { as: 'viewer' })
  for (const name of ['apps', 'app', 'jobs', 'job', 'execution-running', 'cluster']) {
    const path = views(seeded)[name]
    await page.goto(path)
    await drawn(page)
    const buttons = await page.locator('main button:visible:enabled, header button:visible:enabled').count()
    for (let i = 0; i < buttons; i++) {
      await page.goto(path)
      await drawn(page)
      const button = page.locator('main button:visible:enabled, header button:visible:enabled').nth(i)
      const text = await button.innerText()
      const asked = page.waitForRequest((r) => r.method() !== 'GET', { timeout: 150 }).catch(() => null)
      await button.click()
      assert.equal((await asked)?.url(), undefined, `${name}: ${text} changes something`)
    }
  }
  page.problems.check()
})

scene('a user with a role for some apps sees only those', server, async ({ open }) => {
  const page = await open('/', { as: 'mine' })
  await page.getByText('Running shards').waitFor()
  assert.equal(await page.getByText('no leader known').count(), 0)
  await page.goto('/jobs')
  await page.getByRole('link', { name: 'mine-job' }).waitFor()
  assert.equal(await page.getByRole('link', { name: 'nightly-invoices' }).count(), 0)
  assert.equal(await page.getByRole('link', { name: 'Cluster', exact: true }).count(), 0)
  await page.goto('/apps')
  await page.getByRole('link', { name: 'mine-app' }).waitFor()
  assert.equal(await page.getByRole('link', { name: 'billing' }).count(), 0)
  await page.goto('/jobs/job/nightly-invoices')
  await page.getByRole('alert').waitFor()
  page.problems.expect(/^answer: 404 GET \/api\/job\//)
})
