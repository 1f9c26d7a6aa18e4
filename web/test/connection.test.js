// The page shows changes that another window made, and recovers when the server is killed and started again.
import assert from 'node:assert/strict'
import { scene, useServer } from './lib/scene.js'

const server = useServer({
  seed: async (s) => {
    await s.app('billing', 'echo')
    await s.job('nightly-invoices', 'billing', { cron: '0 0 3 * * ?' })
  },
})

const gone = /^(no answer: net::ERR_(CONNECTION_REFUSED|CONNECTION_RESET|EMPTY_RESPONSE|INCOMPLETE_CHUNKED_ENCODING|SOCKET_NOT_CONNECTED)|answer: 503) /

scene('the page says that a killed server does not answer, and recovers when it is back', server, async ({ open }) => {
  const page = await open('/jobs')
  page.problems.expect(gone)
  await page.getByRole('link', { name: 'nightly-invoices' }).waitFor()
  await page.evaluate(() => Object.assign(window, { same: true }))
  await server.kill()
  await page.getByText('Connection lost for').waitFor()
  // The page still shows the job.
  assert.equal(await page.getByRole('link', { name: 'nightly-invoices' }).count(), 1)
  await server.start()
  await server.job('made-meanwhile', 'billing')
  await page.getByText('Connection lost for').waitFor({ state: 'detached' })
  await page.getByRole('link', { name: 'made-meanwhile' }).waitFor()
  assert.equal(await page.evaluate(() => 'same' in window), true, 'the page is the same')
})

scene('two windows show the same', server, async ({ open }) => {
  const [one, other] = [await open('/jobs'), await open('/jobs', { language: 'zh', theme: 'dark' })]
  for (const page of [one, other]) await page.getByRole('link', { name: 'nightly-invoices' }).waitFor()
  await server.job('new-here', 'billing')
  for (const page of [one, other]) await page.getByRole('link', { name: 'new-here' }).waitFor()
  await server.api('DELETE', '/api/job/new-here/deregister')
  for (const page of [one, other]) await page.getByRole('link', { name: 'new-here' }).waitFor({ state: 'detached' })
})

