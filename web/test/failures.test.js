// After a failed request, every view recovers by itself, or shows the failure with a button to retry.
import assert from 'node:assert/strict'
import { demo } from './lib/demo.js'
import { scene, useServer } from './lib/scene.js'
import { drawn, views } from './lib/views.js'

/** @type {import('./lib/demo.js').Demo} */
let seeded
const server = useServer({
  seed: async (s) => {
    seeded = await demo(s)
    await s.addPeople()
  },
})

const failed = /^no answer: net::ERR_CONNECTION_RESET /

/**
 * firstFails makes the first request to each matching path fail, and returns the paths that have failed.
 * @param {import('playwright-core').Page} page
 * @param {RegExp} which
 */
async function firstFails(page, which) {
  /** @type {string[]} */
  const paths = []
  await page.context().route((url) => which.test(url.pathname), (route) => {
    const path = new URL(route.request().url()).pathname
    if (paths.includes(path)) return route.continue()
    paths.push(path)
    return route.abort('connectionreset')
  })
  return paths
}

/** @param {import('./lib/browser.js').Page} page */
const noAlert = (page) => page.waitForFunction(() => !document.querySelector('.notice.error'))

// Views that are drawn by the same module as another view.
const alike = [
  'app-new', 'jobs-found', 'jobs-none', 'job', 'job-waiting', 'job-long-name', 'execution-finished', 'log-failed', 'unknown',
]
const nowhere = { finished: '', failed: '', running: '', waiting: '', task: '', failedTask: '', agent: '' }
for (const name of Object.keys(views(nowhere)).filter((n) => !alike.includes(n))) {
  scene(`${name} recovers when each of its requests fails once`, server, async ({ open }) => {
    const page = await open('about:blank', { as: 'admin' })
    page.problems.expect(failed)
    // Errors that the server itself answers, such as about the missing fields of an empty form.
    page.problems.expect(/^answer: 4\d\d /)
    // The page itself requests the stream of changes, because the test cannot reach the requests of a SharedWorker.
    await page.addInitScript(() => Reflect.deleteProperty(window, 'SharedWorker'))
    const paths = await firstFails(page, /^\/api\//)
    await page.goto(views(seeded)[name])
    await drawn(page)
    for (const path of ['/api/session', '/api/events']) assert.ok(paths.includes(path), `${path}, of ${paths}`)
    await noAlert(page)
  })
}

scene('a page recovers when its module, or one that it imports, fails to load once', server, async ({ open }) => {
  for (const which of [/\/pages\/jobform\.js$/, /\/pieces\/(docform|field|placement)\.js$/]) {
    const page = await open('/jobs', { as: 'admin', theme: 'dark', language: 'zh', width: 390 })
    page.problems.expect(failed)
    await drawn(page)
    const paths = await firstFails(page, which)
    await page.evaluate(() => {
      history.pushState(null, '', '/jobs/new')
      dispatchEvent(new PopStateEvent('popstate'))
    })
    await page.getByRole('heading', { level: 1, name: '注册作业' }).waitFor()
    assert.ok(paths.length > 0, `a module has failed: ${paths}`)
    await noAlert(page)
  }
})

scene('the console says so when its script fails to load, and works when it is loaded again', server, async ({ open }) => {
  const page = await open('about:blank', { as: 'admin' })
  page.problems.expect(failed)
  await firstFails(page, /\/js\/main\.js$/)
  await page.goto('/jobs')
  await page.getByRole('link', { name: 'load the page again' }).click()
  await page.getByRole('heading', { level: 1, name: 'Jobs' }).waitFor()
  assert.equal(await page.locator('.starting').count(), 0)
})

scene('stylesheets that fail to load are requested again', server, async ({ open }) => {
  const page = await open('about:blank', { as: 'admin' })
  page.problems.expect(failed)
  const paths = await firstFails(page, /\.css$/)
  await page.goto('/jobs')
  await drawn(page)
  // For a stylesheet that was not loaded, there is a sheet whose rules cannot be read.
  await page.waitForFunction(() => {
    try {
      return [...document.styleSheets].every((s) => s.cssRules.length > 0)
    } catch {
      return false
    }
  })
  assert.ok(paths.length > 5, `stylesheets have failed: ${paths}`)
})

scene('output is shown although its first requests fail', server, async ({ open }) => {
  const page = await open('about:blank', { as: 'admin' })
  page.problems.expect(failed)
  const paths = await firstFails(page, /\/logs$/)
  await page.goto(views(seeded).log)
  await page.getByText('The task has ended').waitFor()
  assert.equal(paths.length, 1)
  await noAlert(page)
})

scene('a search of the palette finds jobs although its first requests fail', server, async ({ open }) => {
  const page = await open('/cluster', { as: 'admin' })
  page.problems.expect(failed)
  await drawn(page)
  const paths = await firstFails(page, /^\/api\/(jobs|app\/list)$/)
  await page.keyboard.press('/')
  await page.keyboard.type('nightly')
  await page.getByRole('option', { name: 'nightly-invoices' }).waitFor()
  assert.equal(paths.length, 2)
})

scene('a draft is checked again when its first check fails', server, async ({ open }) => {
  const page = await open('/jobs/new', { as: 'admin' })
  page.problems.expect(failed)
  page.problems.expect(/^answer: 422 /)
  await drawn(page)
  const paths = await firstFails(page, /^\/api\/job\/check$/)
  await page.locator('input[name="cron"]').fill('not a cron')
  await page.locator('input[name="timeZone"]').focus()
  await page.locator('input[name="cron"][aria-invalid="true"]').waitFor()
  assert.equal(paths.length, 1)
})

scene('the description of the API is shown although its first request fails', server, async ({ open }) => {
  const page = await open('about:blank', { as: 'admin' })
  page.problems.expect(failed)
  await firstFails(page, /^\/api\/(openapi\.json|session)$/)
  await page.goto('/api/docs')
  await page.getByRole('heading', { level: 1, name: 'API' }).waitFor()
})

scene('a login is possible although its first requests fail', server, async ({ open }) => {
  const page = await open('about:blank')
  page.problems.expect(failed)
  page.problems.expect(/^answer: 401 GET \/api\/session$/)
  const paths = await firstFails(page, /^\/api\/(login|session)$/)
  await page.goto('/jobs')
  await page.getByLabel('User').waitFor()
  assert.deepEqual(paths.sort(), ['/api/login', '/api/session'])
})
