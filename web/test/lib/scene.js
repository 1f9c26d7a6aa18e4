// A scene is a test with a server and a browser.
import { after, before, test } from 'node:test'
import { closeBrowser, context, watch } from './browser.js'
import { Server } from './server.js'

/** @typedef {import('./browser.js').View} View */
/** @typedef {import('./browser.js').Page} Page */

/** @typedef {{open: (path: string, view?: View & {beside?: Page}) => Promise<Page>, server: Server}} Stage */

/**
 * useServer starts a server that the scenes of a file share, before the first scene, and ends it after the last. With people, the
 * server has users, who must log in.
 * @param {{people?: boolean, args?: string[], seed?: (server: Server) => Promise<unknown>}} [options]
 */
export function useServer({ people = false, args = [], seed } = {}) {
  const server = new Server(args)
  before(async () => {
    await server.start()
    if (people) await server.addPeople()
    await seed?.(server)
  })
  after(() => server.end())
  return server
}

after(closeBrowser)

/**
 * scene is a test with a server that opens any number of pages. It also fails if a page reports a problem that the test does not
 * expect.
 * @param {string} name
 * @param {Server} server
 * @param {(stage: Stage) => Promise<void>} play
 */
export function scene(name, server, play) {
  test(name, async () => {
    /** @type {Page[]} */
    const pages = []
    try {
      await play({
        server,
        // A page that is opened beside another one is a tab of the same browser. Other pages share nothing.
        async open(path, view = {}) {
          const page = await watch(await (view.beside?.context() ?? await context(server, view)).newPage())
          pages.push(page)
          await page.goto(path)
          return page
        },
      })
      for (const page of pages) page.problems.check()
    } catch (e) {
      await look(name, pages)
      console.error(server.log())
      throw e
    } finally {
      for (const page of pages) {
        // Routes of the scene may still handle requests, and would fail when the page is closed.
        if (!page.isClosed()) await page.unrouteAll({ behavior: 'ignoreErrors' })
        await page.context().close()
      }
    }
  })
}

/**
 * look saves pictures of the pages of a failed scene into the folder that PICTURES names.
 * @param {string} name
 * @param {Page[]} pages
 */
async function look(name, pages) {
  for (const [i, page] of pages.entries()) {
    if (page.isClosed()) continue
    console.error(`page ${i + 1} is at ${page.url()}:\n${(await page.locator('body').innerText()).slice(0, 2000)}`)
    if (process.env.PICTURES) await page.screenshot({ path: `${process.env.PICTURES}/${name.replaceAll(/\W+/g, '-')}-${i + 1}.png` })
  }
}
