// The form of a job: register, copy and edit.
import assert from 'node:assert/strict'
import { accessible } from './lib/browser.js'
import { scene, useServer } from './lib/scene.js'
import { until } from './lib/until.js'

const server = useServer({ seed: (s) => s.app('batch', 'sleep 1') })

/** @param {import('./lib/browser.js').Page} page */
const wrongAsOneTypes = (page) => page.problems.expect(/answer: (409|422) (POST \/api\/job\/check|GET \/api\/cron)/)

scene('a job is registered by the form, which says what its cron means', server, async ({ open }) => {
  const page = await open('/jobs/new')
  wrongAsOneTypes(page)
  await page.getByRole('textbox', { name: 'Name jobName' }).fill('by-form')
  await page.getByRole('combobox', { name: 'App appName' }).fill('batch')
  await page.getByRole('textbox', { name: /^Cron/ }).fill('0 30 2 ? * MON-FRI')
  await page.getByRole('combobox', { name: /^Time zone/ }).fill('Europe/Berlin')
  await page.getByText('at 02:30, from Monday to Friday').waitFor()
  assert.equal(await page.getByRole('table', { name: 'Next fires' }).getByRole('row').count(), 11)
  await page.getByRole('textbox', { name: /^Shards/ }).fill('3')
  await page.getByText(/All shards would start at once|have room for all 3 shards/).waitFor()
  await page.getByRole('group', { name: /^Variables/ }).getByRole('button', { name: 'Add' }).click()
  await page.getByRole('group', { name: /^Variables/ }).getByRole('textbox', { name: 'Name' }).fill('DB_PASSWORD')
  await page.getByRole('combobox', { name: 'Kind' }).selectOption('secret')
  await page.getByRole('textbox', { name: 'Value DB_PASSWORD' }).fill('swordfish')
  await accessible(page)
  await page.getByRole('button', { name: 'Register' }).click()
  await page.waitForURL('**/jobs/job/by-form')
  assert.deepEqual(await server.api('GET', '/api/job/jobs/by-form').then(({ cron, timeZone, shardingTotalCount, env }) => ({ cron, timeZone, shardingTotalCount, env })), {
    cron: '0 30 2 ? * MON-FRI', timeZone: 'Europe/Berlin', shardingTotalCount: 3, env: { DB_PASSWORD: { value: '******', secret: true } },
  })
})

scene('a mistake is shown at its field, in place of the help', server, async ({ open }) => {
  const page = await open('/jobs/new')
  wrongAsOneTypes(page)
  page.problems.expect(/422 POST \/api\/job\/register/)
  const shards = page.getByRole('textbox', { name: /^Shards/ })
  await shards.fill('20000')
  await shards.blur()
  await page.getByText('must be from 1 to 10000 (given: 20000)').waitFor()
  assert.equal(await shards.getAttribute('aria-invalid'), 'true')
  assert.equal(await page.locator('[aria-invalid=true]').count(), 1, 'fields that nobody was in are not yet wrong')
  await page.getByRole('button', { name: 'Register' }).click()
  await until('the first wrong field has the focus', () => page.getByRole('textbox', { name: 'Name jobName' }).evaluate((e) => e === document.activeElement))
  assert.ok((await page.locator('[aria-invalid=true]').count()) >= 3)
})

scene('form and JSON are one document', server, async ({ open }) => {
  const page = await open('/jobs/new')
  wrongAsOneTypes(page)
  const json = page.getByRole('textbox', { name: 'JSON' })
  await page.getByRole('textbox', { name: 'Name jobName' }).fill('both')
  await until('it is in the JSON', async () => JSON.parse(await json.inputValue()).jobName === 'both')
  await json.fill('{\n  "jobName": "both",\n  "maxRetries": 3\n  "appName": "batch"\n}')
  await page.getByText('Line 4, column 3: a comma or a closing bracket belongs here, not "').waitFor()
  assert.ok((await json.inputValue()).includes('"maxRetries": 3'), 'the text stays')
  await until('it can’t be registered', () => page.getByRole('button', { name: 'Register' }).isDisabled())
  await json.fill('{"jobName": "both", "appName": "batch", "maxRetries": 3, "memoryMb": 64}')
  await page.getByText('unknown field; did you mean memoryMB?').waitFor()
  assert.equal(await page.getByRole('textbox', { name: /^Retries/ }).inputValue(), '3')
})

scene('an edit shows its changes, and those that another user has made meanwhile', server, async ({ open }) => {
  await server.job('edited', 'batch', { cron: '0 0 3 * * ?', env: { API_TOKEN: 'hidden-1', LEVEL: 'info' } })
  const page = await open('/jobs/job/edited/edit')
  wrongAsOneTypes(page)
  await until('nothing is to be saved yet', () => page.getByRole('button', { name: 'Review and save' }).isDisabled())
  await page.getByRole('textbox', { name: /^Cron/ }).fill('0 0 4 * * ?')
  await page.getByRole('textbox', { name: 'Value LEVEL' }).fill('debug')
  await server.api('PUT', '/api/job/update', { jobName: 'edited', description: 'by another' })
  await page.getByText('Another user has changed this meanwhile').waitFor()
  await page.getByRole('button', { name: 'Apply their changes' }).click()
  await page.getByRole('button', { name: 'Review and save' }).click()
  const dialog = page.getByRole('dialog', { name: 'What will change' })
  await dialog.getByRole('rowheader', { name: 'cron' }).waitFor()
  assert.deepEqual(await dialog.getByRole('rowheader').allInnerTexts(), ['cron', 'env.LEVEL'])
  assert.match(await dialog.locator('pre').innerText(), /curl -X PUT .*"cron":"0 0 4 \* \* \?"/)
  await accessible(page)
  await dialog.getByRole('button', { name: 'Save the changes' }).click()
  await page.waitForURL('**/jobs/job/edited')
  const saved = await server.api('GET', '/api/job/jobs/edited')
  assert.deepEqual([saved.cron, saved.description, saved.env], ['0 0 4 * * ?', 'by another', { API_TOKEN: '******', LEVEL: 'debug' }])
})

scene('texts of several lines keep their line breaks', server, async ({ open }) => {
  await server.job('lines', 'batch', { env: { LIST: 'a\nb' }, props: { 'script.command.line': "sh -c 'echo hi\necho ho'" } })
  const page = await open('/jobs/job/lines/edit')
  for (const name of [/^Command/, 'Value LIST']) {
    await page.getByRole('textbox', { name }).press('Control+End')
    await page.getByRole('textbox', { name }).press('c')
  }
  const { env, props } = JSON.parse(await page.getByRole('textbox', { name: 'JSON' }).inputValue())
  assert.deepEqual([env.LIST, props['script.command.line']], ['a\nbc', "sh -c 'echo hi\necho ho'c"])
})

scene('leaving the form with unsaved changes asks for confirmation', server, async ({ open }) => {
  const page = await open('/jobs/new')
  wrongAsOneTypes(page)
  await page.getByRole('textbox', { name: 'Name jobName' }).fill('half')
  await page.getByRole('link', { name: 'Cancel' }).click()
  await page.getByRole('button', { name: 'Stay here' }).click()
  await page.getByRole('button', { name: '中文' }).click()
  await page.getByRole('button', { name: 'Stay here' }).click()
  assert.equal(await page.getByRole('textbox', { name: 'Name jobName' }).inputValue(), 'half')
  await page.getByRole('link', { name: 'Cancel' }).click()
  await page.getByRole('button', { name: 'Leave' }).click()
  await page.waitForURL('**/jobs')
})

scene('a copy has all settings but the name', server, async ({ open }) => {
  await server.job('original', 'batch', { shardingTotalCount: 7, props: { 'script.command.line': 'echo hi' } })
  const page = await open('/jobs/new?from=original')
  wrongAsOneTypes(page)
  const name = page.getByRole('textbox', { name: 'Name jobName' })
  await name.fill('original')
  await name.blur()
  await until('the name is taken', () => name.getAttribute('aria-invalid'))
  await name.fill('copied')
  // When the message about the name disappears, the fields below it move.
  await until('the name is free', async () => (await name.getAttribute('aria-invalid')) !== 'true')
  await until('the command is copied', async () => (await page.getByRole('textbox', { name: /^Command/ }).inputValue()) === 'echo hi')
  await page.getByRole('checkbox', { name: /^Sharding context/ }).uncheck()
  await page.getByRole('button', { name: 'Register' }).click()
  await page.waitForURL('**/jobs/job/copied')
  const { shardingTotalCount, props } = await server.api('GET', '/api/job/jobs/copied')
  assert.deepEqual([shardingTotalCount, props], [7, { 'script.command.line': 'echo hi', 'script.context.argument': 'false' }])
})
