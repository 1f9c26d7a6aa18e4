// The frame of every page: theme, language, navigation and palette.
import assert from 'node:assert/strict'
import { accessible } from './lib/browser.js'
import { scene, useServer } from './lib/scene.js'

const server = useServer({
  seed: async (s) => {
    await s.app('billing', 'echo')
    await s.job('nightly-invoices', 'billing')
  },
})

for (const theme of /** @type {const} */ (['light', 'dark'])) {
  for (const language of /** @type {const} */ (['en', 'zh'])) {
    scene(`the first page, ${theme}, in ${language}`, server, async ({ open }) => {
      const page = await open('/', { theme, language })
      await page.getByRole('heading', { level: 1 }).waitFor()
      assert.equal(await page.locator('html').getAttribute('data-theme'), theme)
      assert.equal(await page.locator('html').getAttribute('lang'), language === 'zh' ? 'zh-CN' : 'en')
      await accessible(page)
    })
  }
}

scene('a page weighs less than 150 KB', server, async ({ open }) => {
  const page = await open('/')
  await page.getByRole('heading', { level: 1 }).waitFor()
  await page.waitForLoadState('load')
  const sizes = await page.evaluate(() =>
    /** @type {PerformanceResourceTiming[]} */ ([...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')])
      .map((e) => ({ name: new URL(e.name).pathname, size: e.encodedBodySize, plain: e.decodedBodySize })),
  )
  const sum = sizes.reduce((all, { size }) => all + size, 0)
  assert.ok(sizes.some(({ name, size, plain }) => name.endsWith('/css/base.css') && size < plain), 'files come compressed')
  assert.ok(sum > 10_000 && sum < 150_000, `${sum} bytes: ${JSON.stringify(sizes)}`)
})

scene('theme and language are switched, and remembered', server, async ({ open }) => {
  const page = await open('/jobs', { theme: 'light', language: 'en' })
  const html = page.locator('html')
  await page.getByRole('heading', { level: 1, name: 'Jobs' }).waitFor()
  await page.getByRole('button', { name: 'Theme: system' }).click()
  await page.getByRole('button', { name: 'Theme: light' }).click()
  await page.getByRole('button', { name: 'Theme: dark' }).waitFor()
  assert.equal(await html.getAttribute('data-theme'), 'dark')
  await page.getByRole('button', { name: '中文' }).click()
  await page.getByRole('heading', { level: 1, name: '作业' }).waitFor()
  await page.reload()
  await page.getByRole('heading', { level: 1, name: '作业' }).waitFor()
  assert.equal(await html.getAttribute('data-theme'), 'dark')
  assert.equal(await html.getAttribute('lang'), 'zh-CN')
  // With the system's theme chosen again, the page follows the system.
  await page.getByRole('button', { name: '主题：深色' }).click()
  await page.getByRole('button', { name: '主题：跟随系统' }).waitFor()
  assert.equal(await html.getAttribute('data-theme'), 'light')
  await page.emulateMedia({ colorScheme: 'dark' })
  await page.locator('html[data-theme="dark"]').waitFor()
})

scene('every page of the navigation is reached, and left by going back', server, async ({ open }) => {
  const page = await open('/')
  for (const name of ['Apps', 'Jobs', 'Executions', 'Cluster', 'History', 'Audit', 'Users', 'Tokens']) {
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name }).click()
    await page.getByRole('heading', { level: 1, name }).waitFor()
  }
  await page.goBack()
  await page.getByRole('heading', { level: 1, name: 'Users' }).waitFor()
  assert.equal(new URL(page.url()).pathname, '/users')
  await page.reload()
  await page.getByRole('heading', { level: 1, name: 'Users' }).waitFor()
})

scene('a job is three keys away', server, async ({ open }) => {
  const page = await open('/cluster')
  await page.getByRole('heading', { level: 1, name: 'Cluster' }).waitFor()
  await page.keyboard.press('/')
  const palette = page.getByRole('dialog')
  await palette.getByRole('combobox').waitFor()
  await accessible(page)
  await page.keyboard.type('n')
  await palette.getByRole('option', { name: 'nightly-invoices' }).waitFor()
  assert.equal(await palette.getByRole('option').first().getAttribute('aria-selected'), 'true')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { level: 1, name: 'nightly-invoices' }).waitFor()
  assert.equal(new URL(page.url()).pathname, '/jobs/job/nightly-invoices')
  assert.equal(await palette.count(), 0)

  await page.keyboard.press('Control+k')
  await palette.getByRole('option', { name: 'Overview' }).waitFor()
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { level: 1, name: 'Apps' }).waitFor()

  await page.keyboard.press('Control+k')
  await palette.waitFor()
  await page.keyboard.press('Escape')
  await palette.waitFor({ state: 'detached' })
})

scene('a slash that is typed into a field opens no palette', server, async ({ open }) => {
  const page = await open('/')
  await page.getByRole('heading', { level: 1 }).waitFor()
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox').pressSequentially('/jobs')
  assert.equal(await page.getByRole('combobox').inputValue(), '/jobs')
})

scene('on a small screen the pages are in a menu', server, async ({ open }) => {
  const page = await open('/', { width: 390 })
  const menu = page.getByRole('button', { name: 'Menu' })
  await menu.click()
  await page.getByRole('link', { name: 'Cluster' }).click()
  await page.getByRole('heading', { level: 1, name: 'Cluster' }).waitFor()
  await page.getByRole('link', { name: 'Tokens' }).waitFor({ state: 'hidden' })
})

scene('the first Tab reaches a link to the content', server, async ({ open }) => {
  const page = await open('/jobs')
  await page.getByRole('heading', { level: 1, name: 'Jobs' }).waitFor()
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  assert.equal(await page.evaluate(() => document.activeElement?.id), 'content')
})

scene('a page whose script cannot be loaded says so, and appears as soon as the script can be loaded', server, async ({ open }) => {
  const page = await open('/jobs')
  page.problems.expect(/^answer: 404 GET \/static\//)
  await page.getByRole('heading', { level: 1, name: 'Jobs' }).waitFor()
  await page.route('**/js/pages/cluster.js', (r) => r.fulfill({ status: 404 }))
  await page.getByRole('link', { name: 'Cluster' }).click()
  await page.getByRole('heading', { level: 1, name: 'This page is not loaded yet' }).waitFor()
  // The button of the message loads the whole console again.
  await Promise.all([page.waitForEvent('load'), page.getByRole('alert').getByRole('button').click()])
  await page.getByRole('heading', { level: 1, name: 'This page is not loaded yet' }).waitFor()
  await page.unroute('**/js/pages/cluster.js')
  await page.getByRole('heading', { level: 1, name: 'Cluster' }).waitFor()
})

scene('the line at the top names the worst problem, and stays dismissed until another problem occurs', server, async ({ open }) => {
  const page = await open('/jobs')
  const since = new Date().toISOString()
  const failing = (/** @type {string} */ job, /** @type {number} */ count) => ({ kind: 'FAILING', severity: 'error', job, app: 'billing', agent: '', path: '', count, since, message: 'exit status 3' })
  let problems = [failing('stock-copy', 3), failing('nightly-invoices', 1)]
  await page.route('**/api/overview', async (route) => {
    await route.fulfill({ json: { ...(await (await route.fetch()).json()), problems, problemsTotal: problems.length } })
  })
  await page.reload()
  const line = page.locator('.problems')
  assert.equal(await line.getByRole('link', { name: 'stock-copy: last 3 runs failed' }).getAttribute('href'), '/jobs/job/stock-copy')
  assert.equal(await line.getByRole('link', { name: 'and 1 more' }).getAttribute('href'), '/')
  await accessible(page)
  const dismiss = line.getByRole('button', { name: 'Dismiss until something new is wrong' })
  await dismiss.click()
  await line.getByText('2 problems dismissed').waitFor()
  problems = [failing('stock-copy', 4), failing('nightly-invoices', 2)]
  await page.reload()
  await line.getByText('2 problems dismissed').waitFor()
  problems = [...problems, failing('order-import', 1)]
  await page.reload()
  await line.getByRole('link', { name: 'order-import: last run failed' }).waitFor()
  await line.getByRole('link', { name: 'and 2 more' }).waitFor()
  await dismiss.click()
  await line.getByRole('button', { name: 'Show' }).click()
  await line.getByRole('link', { name: 'stock-copy: last 4 runs failed' }).waitFor()
})
