// Every view for a user who may see everything: it reports no problem, is accessible, and is not wider than the screen.
import assert from 'node:assert/strict'
import { accessible, fits } from './lib/browser.js'
import { demo } from './lib/demo.js'
import { scene, useServer } from './lib/scene.js'
import { drawn, views } from './lib/views.js'

/** @type {import('./lib/demo.js').Demo} */
let seeded
const server = useServer({
  seed: async (s) => {
    seeded = await demo(s)
    await s.addPeople()
  },
})

const nowhere = { finished: '', failed: '', running: '', waiting: '', task: '', failedTask: '', agent: '' }
/** @type {import('./lib/scene.js').View[]} */
const looks = [
  { as: 'admin', theme: 'light', language: 'en', width: 1440 },
  { as: 'admin', theme: 'dark', language: 'zh', width: 390 },
]
for (const look of looks) {
  for (const name of Object.keys(views(nowhere))) {
    scene(`${name}, ${look.theme}, in ${look.language}, ${look.width} pixels wide`, server, async ({ open }) => {
      const page = await open(views(seeded)[name], look)
      if (name === 'job-new') page.problems.expect(/^answer: 422 POST \/api\/job\/check$/) // the check of the empty form
      await drawn(page)
      assert.notEqual(await page.title(), 'broken')
      await fits(page)
      await accessible(page)
    })
  }
}
