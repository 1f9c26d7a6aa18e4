// A real browser whose pages must report no problems.
import assert from 'node:assert/strict'
import { accessSync, constants } from 'node:fs'
import { createRequire } from 'node:module'
import { delimiter, join } from 'node:path'
import { readFile } from 'node:fs/promises'
import { chromium } from 'playwright-core'
import { password } from './server.js'
import { patience } from './until.js'

/** @typedef {import('playwright-core').Page & {problems: Problems}} Page */

const isThere = (/** @type {string} */ file) => {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** findChromium returns the browser that CHROMIUM names, or one in PATH. */
function findChromium() {
  if (process.env.CHROMIUM) return process.env.CHROMIUM
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    for (const name of ['chromium', 'chromium-browser', 'google-chrome']) if (isThere(join(folder, name))) return join(folder, name)
  }
  throw new Error('there is no Chromium: install it (Debian: apt-get install chromium), or name it by CHROMIUM')
}

/** launch starts the browser, with Chromium's sandbox unless the tests run as root, which Chromium does not support. */
export function launch() {
  return chromium.launch({ executablePath: findChromium(), chromiumSandbox: process.getuid?.() !== 0, args: ['--disable-dev-shm-usage'] })
}

/** @typedef {import('./server.js').Person} Person */

/**
 * @typedef {object} View how a page is opened
 * @property {Person} [as] the user who is logged in
 * @property {'light' | 'dark'} [theme] the system's theme
 * @property {'en' | 'zh'} [language] the browser's language
 * @property {number} [width]
 * @property {boolean} [still] whether animations are off
 */

/** @type {ReturnType<typeof launch> | undefined} */
let browser
/** closeBrowser ends the browser. */
export async function closeBrowser() {
  await (await browser)?.close()
}

/**
 * context opens a window that shares nothing with others.
 * @param {{url: string}} server
 * @param {View} [view]
 */
export async function context(server, { as, theme = 'light', language = 'en', width = 1440, still = true } = {}) {
  browser ??= launch()
  const made = await (await browser).newContext({
    baseURL: server.url, colorScheme: theme, locale: language === 'zh' ? 'zh-CN' : 'en-GB', timezoneId: 'Europe/Berlin',
    viewport: { width, height: 900 }, reducedMotion: still ? 'reduce' : 'no-preference',
  })
  if (as) {
    const answer = await made.request.post('/api/session', { data: { username: as, password }, headers: { Origin: server.url } })
    assert.ok(answer.ok(), `${as} logs in: ${answer.status()} ${await answer.text()}`)
  }
  return made
}

/** Problems collects the problems that a page reports. */
export class Problems {
  /** @type {string[]} */
  #all = []
  /** @type {RegExp[]} */
  #expected = []

  /** @param {string} text */
  add(text) {
    this.#all.push(text)
  }

  /**
   * expect says that the test causes problems of this kind.
   * @param {RegExp} kind
   */
  expect(kind) {
    this.#expected.push(kind)
  }

  /** check fails if there were any other problems. */
  check() {
    const others = this.#all.filter((text) => !this.#expected.some((kind) => kind.test(text)))
    assert.deepEqual(others, [], 'the page has complained')
  }
}

/**
 * watch collects the problems of a page: errors and warnings in its console, uncaught errors, violations of the content security
 * policy, error answers, and requests without an answer.
 * @param {import('playwright-core').Page} page
 */
export async function watch(page) {
  const watched = /** @type {Page} */ (page)
  const problems = (watched.problems = new Problems())
  page.setDefaultTimeout(patience)
  page.on('pageerror', (e) => problems.add(`error: ${e.stack ?? e}`))
  page.on('console', (m) => {
    // A failed load is reported by its request, with the address.
    if (['error', 'warning'].includes(m.type()) && !m.text().startsWith('Failed to load resource')) problems.add(`console: ${m.text()} (${m.location().url})`)
  })
  page.on('response', (r) => {
    if (r.status() >= 400) problems.add(`answer: ${r.status()} ${r.request().method()} ${new URL(r.url()).pathname}`)
  })
  page.on('requestfailed', (r) => {
    const why = r.failure()?.errorText
    // The page itself aborted the request, or was left.
    if (why !== 'net::ERR_ABORTED') problems.add(`no answer: ${why} ${r.method()} ${new URL(r.url()).pathname}`)
  })
  page.on('dialog', (d) => {
    problems.add(`dialog: ${d.message()}`)
    void d.dismiss()
  })
  await page.exposeFunction('violated', (/** @type {string} */ what) => problems.add(`content policy: ${what}`))
  await page.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', (e) => {
      const tell = /** @type {{violated: (what: string) => void}} */ (/** @type {unknown} */ (window)).violated
      tell(`${e.effectiveDirective} ${e.blockedURI} ${e.sourceFile}:${e.lineNumber} ${e.sample}`)
    })
  })
  return watched
}

const axe = readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/**
 * accessible fails if axe finds violations of accessibility in the page.
 * @param {import('playwright-core').Page} page
 */
export async function accessible(page) {
  await page.evaluate(await axe)
  const violations = await page.evaluate(async () => {
    const { axe } = /** @type {{axe: typeof import('axe-core')}} */ (/** @type {unknown} */ (window))
    const { violations } = await axe.run()
    return violations.map((v) => `${v.id}: ${v.help}: ${v.nodes.map((n) => `${n.html.slice(0, 200)} ${n.failureSummary ?? ''}`).join('; ')}`)
  })
  assert.deepEqual(violations, [], `axe at ${page.url()}`)
}

/**
 * fits fails if a page is wider than its screen, so that users would have to scroll sideways.
 * @param {import('playwright-core').Page} page
 */
export async function fits(page) {
  const [whole, screen] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth])
  assert.ok(whole <= screen, `the page is ${whole} pixels wide, the screen ${screen}, at ${page.url()}`)
}
