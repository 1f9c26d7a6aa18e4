// Every view, looked at by somebody who may see all: none complains, none keeps anybody from using it, and none is wider than its screen.
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
      if (name === 'job-new') page.problems.expect(/^answer: 422 POST \/api\/job\/check$/) // it says what is missing yet
      await drawn(page)
      assert.notEqual(await page.title(), 'broken')
      await fits(page)
      await accessible(page)
    })
  }
}
