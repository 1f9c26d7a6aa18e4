// make screenshots: pictures of every view, in both themes and languages, on a large and a small screen.
import { execFileSync } from 'node:child_process'
import { mkdir, readdir, rm } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { closeBrowser, context } from './lib/browser.js'
import { demo } from './lib/demo.js'
import { Server } from './lib/server.js'
import { drawn, views } from './lib/views.js'

const folder = fileURLToPath(new URL('../../docs/screenshots/', import.meta.url))
const [only] = process.argv.slice(2) // the name of a view, to picture only this one
const server = new Server()
try {
  await mkdir(folder, { recursive: true })
  await server.start()
  const seeded = await demo(server)
  await server.addPeople()
  const all = Object.entries({ login: '/', ...views(seeded) }).filter(([name]) => !only || name === only)
  if (!only) for (const old of await readdir(folder)) if (old.endsWith('.png')) await rm(folder + old)
  for (const theme of /** @type {const} */ (['light', 'dark'])) {
    for (const language of /** @type {const} */ (['en', 'zh'])) {
      for (const width of [1440, 390]) {
        const windows = { somebody: await context(server, { as: 'admin', theme, language, width }), nobody: await context(server, { theme, language, width }) }
        for (const [name, address] of all) {
          const page = await windows[name === 'login' ? 'nobody' : 'somebody'].newPage()
          await page.goto(address)
          await drawn(page)
          // The picture shows the whole height of the page.
          const height = await page.evaluate(() => document.documentElement.scrollHeight)
          await page.setViewportSize({ width, height: Math.min(2400, Math.max(900, height)) })
          await drawn(page)
          const path = `${folder}${name}-${theme}-${language}-${width}.png`
          await page.screenshot({ path, animations: 'disabled', caret: 'hide' })
          execFileSync('pngquant', ['--force', '--strip', '--ext', '.png', path])
          await page.close()
        }
        for (const w of Object.values(windows)) await w.close()
      }
    }
  }
  console.log(`${all.length * 8} pictures are in docs/screenshots`)
} finally {
  await closeBrowser()
  await server.end()
}
