// Part of make bench: the speed of the console with a server that has very many jobs. node bench.js URL SECONDS prints figures as JSON.
import { closeBrowser, context, watch } from './lib/browser.js'
import { drawn } from './lib/views.js'

const [url, seconds] = process.argv.slice(2)
const server = { url }

/** asked measures how long several answers take, in milliseconds. */
async function asked(/** @type {string} */ path) {
  const took = []
  for (let i = 0; i < 21; i++) {
    const begin = performance.now()
    const answer = await fetch(url + path)
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${text}`)
    took.push(performance.now() - begin)
  }
  return took
}

/** opened measures the first visit of a browser. */
async function opened() {
  const window = await context(server)
  const page = await watch(await window.newPage())
  await page.goto('/jobs')
  await page.locator('main table tbody tr').first().waitFor()
  await drawn(page)
  const seen = await page.evaluate(() => ({
    paint: performance.getEntriesByName('first-contentful-paint')[0].startTime,
    bytes: /** @type {PerformanceResourceTiming[]} */ ([...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]).reduce((sum, e) => sum + e.encodedBodySize, 0),
  }))
  page.problems.check()
  await window.close()
  return seen
}

/** lasting measures how smoothly a list is drawn while its rows change for SECONDS, and how much memory that takes. */
async function lasting() {
  const page = await watch(await (await context(server, { still: false })).newPage())
  await page.goto('/jobs?sort=lastRun&order=DESC')
  await page.locator('main table tbody tr').first().waitFor()
  const tools = await page.context().newCDPSession(page)
  const heap = async () => {
    await tools.send('HeapProfiler.collectGarbage')
    return (await tools.send('Runtime.getHeapUsage')).usedSize
  }
  const frames = () => page.evaluate((millis) => new Promise((done) => {
    /** @type {number[]} */
    const gaps = []
    const begin = performance.now()
    let last = begin
    const next = (/** @type {number} */ now) => {
      gaps.push(now - last)
      last = now
      if (now - begin < millis) requestAnimationFrame(next)
      else done(gaps)
    }
    requestAnimationFrame(next)
  }), Number(seconds) * 500)
  await page.evaluate(() => new Promise((done) => requestIdleCallback(done)))
  await frames()
  const first = await heap()
  const gaps = /** @type {number[]} */ (await frames())
  const last = await heap()
  const nodes = await page.evaluate(() => document.querySelectorAll('*').length)
  page.problems.check()
  return { gaps, first, last, nodes }
}

try {
  const lists = {}
  for (const path of ['/api/jobs', '/api/jobs?page=2000', '/api/jobs?search=job+0999', '/api/jobs?sort=lastRun&order=DESC', '/api/overview']) Object.assign(lists, { [path]: await asked(path) })
  const views = []
  for (let i = 0; i < 9; i++) views.push(await opened())
  console.log(JSON.stringify({ lists, paints: views.map((v) => v.paint), bytes: views[0].bytes, ...await lasting() }))
} finally {
  await closeBrowser()
}
