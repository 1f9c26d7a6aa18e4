// All tabs of a browser together have only six connections to a server. Many tabs must use no more of them than one tab.
import assert from 'node:assert/strict'
import { scene, useServer } from './lib/scene.js'
import { talk, talking } from './lib/talking.js'
import { until } from './lib/until.js'

const part = encodeURIComponent

const server = useServer({ seed: (s) => s.app('talk', talk) })

/** streams returns the number of clients that follow the stream of changes. */
async function streams() {
  const text = await (await fetch(`${server.url}/metrics`)).text()
  return Number(/^elasticjob_event_streams (\d+)$/m.exec(text)?.[1])
}

/** @param {string} what @param {() => Promise<unknown>} wait */
async function timed(what, wait) {
  const began = Date.now()
  await wait()
  console.log(`${what} after ${Date.now() - began} ms`)
}

scene('the last of many tabs is drawn and live', server, async ({ open }) => {
  const job = await talking(server, 'watched')
  await job.say(1)
  const first = await open(`/executions/execution/${part(job.execution)}`)
  const state = (/** @type {import('./lib/browser.js').Page} */ page, /** @type {string} */ word) => page.locator('.page-head').getByText(word).waitFor()
  await state(first, 'Running')
  let execution = first
  for (let i = 2; i <= 12; i++) {
    await timed(`execution page ${i} is drawn`, async () => {
      execution = await open(`/executions/execution/${part(job.execution)}`, { beside: first })
      await state(execution, 'Running')
    })
  }
  let log = first
  for (let i = 1; i <= 8; i++) {
    await timed(`log page ${i} is drawn`, async () => {
      log = await open(`/tasks/task/${part(job.task)}/log`, { beside: first })
      await log.getByText('line 1 of').waitFor()
    })
  }
  assert.equal(await streams(), 1)
  await timed('the last log page has a line that was written', async () => {
    await job.say(2)
    await log.getByText('line 2 of').waitFor()
  })
  await timed('the last execution page has the end', async () => {
    await job.end()
    await state(execution, 'Finished')
  })
  for (const page of [first, log]) await page.getByText(page === log ? 'The task has ended' : 'Finished').first().waitFor()
})

scene('a tab uses another hub if the shared one has crashed, and its own in a browser without SharedWorker', server, async ({ open }) => {
  await server.job('before', 'talk')
  const page = await open('/jobs')
  const without = await open('about:blank')
  await without.addInitScript(() => Reflect.deleteProperty(window, 'SharedWorker'))
  await without.goto('/jobs')
  for (const p of [page, without]) await p.getByRole('link', { name: 'before' }).waitFor()
  await until('both hear of changes', async () => await streams() === 2)
  const cdp = await /** @type {import('playwright-core').Browser} */ (page.context().browser()).newBrowserCDPSession()
  const { targetInfos } = await cdp.send('Target.getTargets')
  const workers = targetInfos.filter((t) => t.type === 'shared_worker')
  assert.equal(workers.length, 1)
  await cdp.send('Target.closeTarget', { targetId: workers[0].targetId })
  await until('its stream has ended', async () => await streams() === 1)
  // As when the user returns to the tab. The hub does not answer its message.
  await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')))
  await until('there is another one', async () => await streams() === 2)
  await server.job('after', 'talk')
  for (const p of [page, without]) await p.getByRole('link', { name: 'after' }).waitFor()
})
