// The page with the API's description: search, details, copied commands, the dark theme and a phone.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { accessible, fits } from './lib/browser.js'
import { password } from './lib/server.js'
import { scene, useServer } from './lib/scene.js'

const server = useServer({ people: true })

scene('the API can be searched, and the curl line of a route works', server, async ({ open, server: s }) => {
  const page = await open('/api/docs', { as: 'admin' })
  await page.getByRole('heading', { level: 1, name: 'API' }).waitFor()
  const described = await s.api('GET', '/api/openapi.json')
  const operations = Object.values(described.paths).flatMap((item) => Object.keys(/** @type {object} */ (item)))
  assert.equal(await page.locator('section:not(#schemas) > details').count(), operations.length, 'every operation is there')
  assert.equal(await page.locator('#schemas > details').count(), Object.keys(described.components.schemas).length, 'every schema is there')

  await page.getByRole('searchbox', { name: 'Search the API' }).fill('cron words')
  const found = page.locator('section:not(#schemas) > details')
  await found.getByText('/api/cron').waitFor()
  assert.equal(await found.count(), 1)
  await found.locator('summary').first().click()
  await page.getByText('Who may use it: viewer for the app.').waitFor()
  await page.getByRole('cell', { name: /^timeZone/ }).waitFor()
  const line = await found.locator('.curl pre').innerText()
  assert.match(line, /^curl -H "Authorization: Bearer \$TOKEN" '?http/)
  const { accessToken } = await s.api('POST', '/api/login', { username: 'admin', password })
  const said = execFileSync('sh', ['-c', `${line} --silent --fail`], { env: { ...process.env, TOKEN: accessToken }, encoding: 'utf8' })
  assert.match(JSON.parse(said).words, /03:00/)
  await accessible(page)

  await found.getByRole('link', { name: 'CronView' }).first().click()
  await page.locator('#schema-CronView[open]').getByText('nextFires').waitFor()
  await page.getByRole('searchbox', { name: 'Search the API' }).fill('no such route')
  await page.getByText('No match in the API.').waitFor()
})

for (const view of /** @type {const} */ ([{ theme: 'light', language: 'en', width: 1440 }, { theme: 'dark', language: 'zh', width: 390 }])) {
  scene(`the page fits its screen and is accessible, ${view.theme}, in ${view.language}, ${view.width} pixels wide`, server, async ({ open }) => {
    const page = await open('/api/docs#postJobRegister', { ...view, as: 'admin' })
    await page.locator('#postJobRegister[open] .curl').waitFor()
    assert.equal(await page.locator('html').getAttribute('data-theme'), view.theme)
    await fits(page)
    await accessible(page)
  })
}

scene('a user who is not logged in logs in first, and then sees the requested page', server, async ({ open }) => {
  const page = await open('/api/docs')
  page.problems.expect(/^answer: 401 GET \/api\/session$/)
  await page.getByRole('textbox', { name: 'User' }).fill('admin')
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByRole('searchbox', { name: 'Search the API' }).waitFor()
})

scene('the console has a link to the page', server, async ({ open }) => {
  const page = await open('/', { as: 'admin' })
  await page.getByRole('link', { name: 'API' }).click()
  await page.getByRole('searchbox', { name: 'Search the API' }).waitFor()
  await page.getByRole('link', { name: 'ElasticJob' }).click()
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
})
