// Apps are published, examined, edited, disabled and deleted.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { accessible } from './lib/browser.js'
import { scene, useServer } from './lib/scene.js'
import { until } from './lib/until.js'

const server = useServer({
  seed: async (s) => {
    await s.app('plain', 'sleep 300')
    for (const i of [1, 2, 3]) await s.job(`of-plain-${i}`, 'plain', {})
  },
})

scene('a package is checked before it is published, and pinned', server, async ({ open, server: s }) => {
  const file = join(s.dir, 'good.sh')
  await writeFile(file, '#!/bin/sh\necho good\n', { mode: 0o755 })
  const page = await open('/apps/new')
  page.problems.expect(/422 POST \/api\/app/)
  await page.getByRole('textbox', { name: 'Name appName' }).fill('looked')
  const address = page.getByRole('textbox', { name: /^Address/ })
  await address.fill(`file://${s.dir}/none.tar.gz`)
  await page.getByRole('textbox', { name: /^Script/ }).fill('good.sh')
  await page.getByRole('button', { name: 'Publish' }).click()
  await page.getByRole('heading', { name: 'Publish an app' }).waitFor()
  await until('the address is wrong', () => address.getAttribute('aria-invalid'))
  assert.ok(!(await s.api('GET', '/api/app/list')).some((/** @type {any} */ a) => a.appName === 'looked'), 'it is not published')
  // A script without an execute bit is run by the interpreter that its first line names.
  await writeFile(join(s.dir, 'plain.sh'), '#!/bin/sh\necho good\n', { mode: 0o644 })
  execFileSync('tar', ['-C', s.dir, '-cf', join(s.dir, 'plain.tar'), 'plain.sh'])
  await address.fill(`file://${s.dir}/plain.tar`)
  const script = page.getByRole('textbox', { name: /^Script/ })
  await script.fill('plain.sh')
  await page.getByRole('button', { name: 'Check the package' }).click()
  await page.locator('dd:not(.bad)').getByText('plain.sh, run by /bin/sh').waitFor()
  await script.fill('good.sh')
  await address.fill(`file://${file}`)
  await page.getByRole('button', { name: 'Check the package' }).click()
  await page.getByText('It can be published.').waitFor()
  await page.getByRole('button', { name: 'Pin this package' }).click()
  assert.match(await page.getByRole('textbox', { name: /^SHA-256/ }).inputValue(), /^[0-9a-f]{64}$/)
  await accessible(page)
  await page.getByRole('button', { name: 'Publish' }).click()
  await page.waitForURL('**/apps/app/looked')
  assert.match((await s.api('GET', '/api/app/looked')).appSHA256, /^[0-9a-f]{64}$/)
})

scene('the list has each app with its jobs', server, async ({ open }) => {
  const page = await open('/apps')
  const row = page.getByRole('row').filter({ hasText: 'plain' })
  await row.getByRole('link', { name: '3', exact: true }).waitFor()
  await accessible(page)
  await page.getByRole('searchbox').fill('no such app')
  await page.getByRole('heading', { name: 'No matching apps' }).waitFor()
  await page.getByRole('button', { name: 'Clear the search' }).click()
  await row.getByRole('link', { name: '3', exact: true }).click()
  await page.waitForURL('**/jobs?app=plain')
})

scene('an app is disabled, and enabled again with Undo; its page lists its jobs', server, async ({ open, server: s }) => {
  const page = await open('/apps/app/plain')
  await page.getByRole('link', { name: 'of-plain-3' }).waitFor()
  await accessible(page)
  await page.getByRole('button', { name: 'Disable', exact: true }).click()
  await page.getByRole('button', { name: 'Enable', exact: true }).waitFor()
  await page.getByRole('row').filter({ hasText: 'of-plain-1' }).getByText('App disabled').waitFor()
  await page.getByRole('button', { name: 'Undo' }).click()
  await until('it is enabled', async () => (await s.api('GET', '/api/app/plain/disable')) === false)
})

scene('an edit shows what will change', server, async ({ open, server: s }) => {
  await s.app('changed', 'true')
  const page = await open('/apps/app/changed/edit')
  await page.getByRole('textbox', { name: /^Memory/ }).fill('48')
  await page.getByRole('checkbox', { name: /^Keep the package/ }).uncheck()
  await page.getByRole('button', { name: 'Review and save' }).click()
  await page.getByRole('rowheader', { name: 'memoryMB' }).waitFor()
  assert.deepEqual(await page.getByRole('dialog').getByRole('rowheader').allInnerTexts(), ['memoryMB', 'appCacheEnable'])
  await page.getByRole('button', { name: 'Save the changes' }).click()
  await page.waitForURL('**/apps/app/changed')
  const { memoryMB, appCacheEnable } = await s.api('GET', '/api/app/changed')
  assert.deepEqual([memoryMB, appCacheEnable], [48, false])
})

// There is no Kubernetes in this test. The page is told that there is, and the server rejects fields about images.
scene('an app on Kubernetes has an image and pod template; a refused value is shown at its field', server, async ({ open, server: s }) => {
  await s.app('moved', 'true')
  const page = await open('/apps')
  page.problems.expect(/422 PUT \/api\/app/)
  await page.route('**/api/schema/app', async (route) => {
    const schema = await (await route.fetch()).json()
    await route.fulfill({ json: { ...schema, properties: { ...schema.properties, image: { type: 'string' } } } })
  })
  await page.goto(new URL('/apps/app/moved/edit', page.url()).href)
  const look = page.getByRole('button', { name: 'Check the package' })
  await look.waitFor()
  const address = page.getByRole('textbox', { name: /^Address/ })
  const package_ = await address.inputValue()
  const template = page.getByRole('textbox', { name: /^Pod template/ })
  const image = page.getByRole('textbox', { name: /^Image/ })
  await image.fill('registry.example/moved:1')
  assert.equal(await page.getByRole('textbox', { name: /^Memory/ }).count(), 0, 'nobody pays for an executor')
  await page.getByText('addresses that only pods reach').waitFor()
  await address.fill('')
  await look.waitFor({ state: 'detached' })
  assert.equal(await page.getByRole('checkbox', { name: /^Check the package/ }).count(), 0, 'there is no package to check')
  await address.fill(package_)
  await page.getByRole('combobox', { name: /^Pull policy/ }).selectOption('Always')
  await page.getByRole('textbox', { name: /^Secrets to pull with/ }).fill('mirror, team')
  await template.fill('{"spec": {"nodeSelector": {"disk" "ssd"}}}')
  await page.getByText('Line 1, column 35: a colon belongs here').waitFor()
  await template.fill('{"spec": {"nodeSelector": {"disk": "ssd"}}}')
  await accessible(page)
  await page.getByRole('button', { name: 'Review and save' }).click()
  assert.deepEqual(await page.getByRole('dialog').getByRole('rowheader').allInnerTexts(), ['image', 'imagePullPolicy', 'imagePullSecrets', 'podTemplate.spec.nodeSelector.disk'])
  await page.getByRole('button', { name: 'Save the changes' }).click()
  for (const field of [image, template]) await until('it is refused', () => field.getAttribute('aria-invalid'))
  assert.equal(await page.getByText(/works on Kubernetes only/).count(), 4)

  await page.route('**/api/app/moved', async (route) => {
    const app = await (await route.fetch()).json()
    await route.fulfill({ json: { ...app, appURL: '', image: 'registry.example/moved:1', imagePullPolicy: 'Always', imagePullSecrets: ['mirror'], podTemplate: { spec: { nodeSelector: { disk: 'ssd' } } } } })
  })
  await page.getByRole('link', { name: 'Cancel' }).click()
  await page.getByRole('button', { name: 'Leave' }).click()
  await page.getByText('registry.example/moved:1').waitFor()
  await page.getByText('"disk": "ssd"').waitFor()
  assert.equal(await page.getByText('SHA-256').count(), 0, 'there is no package to be pinned')
  await accessible(page)
})

scene('deleting an app lists its jobs, and asks for its name', server, async ({ open, server: s }) => {
  await s.app('doomed', 'true')
  await s.job('with-it', 'doomed', {})
  const page = await open('/apps/app/doomed')
  // The stream of changes may report the deletion before the answer to the request makes the console leave the page, which meanwhile
  // asks for the app, its jobs and the files of its executors.
  page.problems.expect(/^answer: 404 GET \/api\/(app|job|operate\/sandbox)/)
  await page.getByRole('button', { name: 'Delete', exact: true }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('listitem').last().waitFor()
  assert.deepEqual(await dialog.getByRole('listitem').allInnerTexts(), ['with-it'])
  await dialog.getByRole('textbox').fill('doomed')
  await dialog.getByRole('button', { name: 'Delete', exact: true }).click()
  await page.waitForURL('**/apps')
  assert.ok(!(await s.api('GET', '/api/job/jobs')).some((/** @type {any} */ j) => j.jobName === 'with-it'))
})
