// Everything that users write or jobs print is shown as text.
import assert from 'node:assert/strict'
import { fits } from './lib/browser.js'
import { hostile } from './lib/demo.js'
import { scene, useServer } from './lib/scene.js'
import { drawn } from './lib/views.js'

const script = `
printf '%s\\n' "<script>document.title='broken'</script>" "<img src=x onerror=\\"document.title='broken'\\">" '{{7*7}} \${7*7} &lt;b&gt;'
printf '\\033[31mred\\033[0m \\033[8mhidden\\033[0m \\033]0;broken\\007 \\033[2J\\033[1;1H \\342\\200\\256txt.exe\\342\\200\\254 end of marks\\n'
head -c 1000000 /dev/zero | tr '\\0' x
echo
printf '\\377\\376 no UTF-8\\n'
echo 'the last line'
echo "<script>document.title='broken'</script><b>cause</b>" >&2
exit 3`

let execution = ''
let task = ''
const server = useServer({
  seed: async (s) => {
    await s.app('hostile', script)
    await s.job('hostile', 'hostile', { description: hostile, jobParameter: hostile, shardingItemParameters: `0=${hostile.replaceAll(/[=,]/g, '')}`, env: { WORD: hostile } })
    const run = await s.run('hostile', 'FAILED')
    execution = run.executionId
    task = run.shards[0].taskId
  },
})

/** @param {import('./lib/scene.js').Page} page */
async function isText(page) {
  assert.notEqual(await page.title(), 'broken')
  assert.equal(await page.locator('body script, [onerror], main b, main iframe').count(), 0, `markup was made of text at ${page.url()}`)
}

scene('markup in names, descriptions and causes is shown as text', server, async ({ open }) => {
  const page = await open('/')
  for (const [path, text] of [['/', 'hostile'], ['/jobs', 'hostile'], ['/jobs/job/hostile', '<script>'], ['/jobs/job/hostile/edit', ''], ['/apps/app/hostile', 'hostile'], [`/executions/execution/${encodeURIComponent(execution)}`, '<b>cause</b>'], ['/executions', 'hostile'], ['/audit', 'hostile'], ['/history', '']]) {
    await page.goto(path)
    await drawn(page)
    if (text) await page.locator('main').getByText(text).locator('visible=true').first().waitFor()
    await isText(page)
  }
})

scene('markup in output is shown as text', server, async ({ open }) => {
  const page = await open(`/tasks/task/${encodeURIComponent(task)}/log`)
  for (const text of ["<script>document.title='broken'</script>", `<img src=x onerror="document.title='broken'">`, '{{7*7}} ${7*7} &lt;b&gt;', 'end of marks', 'no UTF-8', 'the last line']) {
    await page.getByText(text).first().waitFor({ state: 'attached' })
  }
  await isText(page)
  await fits(page) // even with long lines
})

scene('markup in addresses is shown as text', server, async ({ open }) => {
  const page = await open('/')
  page.problems.expect(/^answer: 4\d\d GET \/api\//)
  for (const path of [`/jobs/job/${encodeURIComponent(hostile)}`, `/apps/app/${encodeURIComponent(hostile)}`, `/executions/execution/${encodeURIComponent(hostile)}`, `/${encodeURIComponent(hostile)}`, `/jobs?search=${encodeURIComponent(hostile)}`, '/jobs/job/%2e%2e%2f%2e%2e', '/jobs?page=-1&per_page=x']) {
    await page.goto(path)
    await drawn(page)
    await isText(page)
  }
})
