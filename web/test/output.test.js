// The output of a task, while it is written and afterwards.
import assert from 'node:assert/strict'
import { accessible } from './lib/browser.js'
import { scene, useServer } from './lib/scene.js'
import { talk, talking } from './lib/talking.js'
import { until } from './lib/until.js'

const part = encodeURIComponent

const many = `
i=0
while [ $i -lt 20000 ]; do i=$((i + 1)); echo "row $i of many, some longer than others"; done
echo needle 1 >&2
printf '2026-05-01T12:00:0%dZ first of %d\\n  its trace\\n2026-05-01T12:00:1%dZ second of %d\\n' $ELASTICJOB_SHARDING_ITEM $ELASTICJOB_SHARDING_ITEM $ELASTICJOB_SHARDING_ITEM $ELASTICJOB_SHARDING_ITEM >&2
echo "the needle"`

/** @type {any} */
let ran
const server = useServer({
  seed: async (s) => {
    await s.app('talk', talk)
    await s.app('many', many)
    await s.job('many', 'many', { shardingTotalCount: 3 })
    ran = await s.run('many', 'FINISHED')
  },
})

const log = '[role="log"]'
const atEnd = (/** @type {import('playwright-core').Page} */ page) => page.locator(log).evaluate((e) => e.scrollTop + e.clientHeight >= e.scrollHeight - 4)

scene('the end is followed, and a part that is read above stays in place', server, async ({ open }) => {
  const job = await talking(server, 'talking')
  await job.say(200)
  const page = await open(`/tasks/task/${part(job.task)}/log`)
  await page.getByText('line 200 of', { exact: false }).waitFor()
  await page.getByText('Following').waitFor()
  await job.say(300)
  await page.getByText('line 300 of', { exact: false }).waitFor()
  assert.ok(await atEnd(page))
  await page.locator(log).hover()
  await page.mouse.wheel(0, -1000)
  await page.getByText('Follow stopped: you scrolled up').waitFor()
  const row = page.locator('.log-line').nth(40)
  const id = await row.getAttribute('data-id')
  const place = () => page.locator(`[data-id="${id}"]`).evaluate((e) => e.getBoundingClientRect().top)
  const before = await place()
  await job.say(312)
  await page.getByRole('button', { name: '12 new lines' }).waitFor()
  assert.equal(await place(), before)
  await page.getByRole('button', { name: '12 new lines' }).click()
  await page.getByText('line 312 of', { exact: false }).waitFor()
  assert.ok(await atEnd(page))
  await accessible(page)
  await job.end()
  await page.getByText('The task has ended').waitFor()
})

scene('following continues at its position after the connection broke', server, async ({ open }) => {
  const job = await talking(server, 'healing')
  await job.say(20)
  const page = await open(`/tasks/task/${part(job.task)}/log`)
  page.problems.expect(/./)
  await page.getByText('line 20 of', { exact: false }).waitFor()
  await server.kill()
  await page.getByText('Connection lost, trying again').first().waitFor()
  await job.say(40)
  await server.start()
  await page.getByText('line 40 of', { exact: false }).waitFor()
  assert.equal(await page.locator('.log-line').count(), 40)
  await job.end()
})

scene('a search of the whole output leads to a match; lines have addresses, and numbers if known', server, async ({ open }) => {
  const [shard] = ran.shards
  const page = await open(`/tasks/task/${part(shard.taskId)}/log`)
  await page.getByText('the needle').waitFor()
  assert.equal(await page.getByText('row 5000 of many').count(), 0)
  await page.getByLabel('Search in the output').fill('ROW 5000 ')
  await page.getByText('no match in what is loaded').waitFor()
  await page.getByRole('button', { name: 'Search all of it' }).click()
  await page.getByRole('link', { name: 'row 5000 of many' }).click()
  await page.locator('.log-line.at').getByText('row 5000 of many').waitFor()
  assert.match(page.url(), /[?&]at=\d+/)
  assert.equal(await page.locator('.log-line.at mark').innerText(), 'row 5000 ')
  await page.reload()
  await page.locator('.log-line.at').getByText('row 5000 of many').waitFor()
  await page.getByRole('link', { name: 'Go to the beginning' }).click()
  await page.getByRole('link', { name: 'Line 7', exact: true }).waitFor()
  await page.locator('.log-line', { hasText: 'row 7 of' }).getByRole('link', { name: 'Line 7', exact: true }).click()
  await page.locator('.log-line.at').getByText('row 7 of many').waitFor()
})

scene('a search of a large output, one part per request, continues until it finds something', server, async ({ open }) => {
  const page = await open(`/tasks/task/${part(ran.shards[0].taskId)}/log`)
  let parts = 0
  await page.route(/\/logs\/search\?/, async (route) => {
    const answer = await (await route.fetch()).json()
    const offset = Number(new URL(route.request().url()).searchParams.get('offset'))
    const next = offset + 100_000 // the search continues in the next part
    parts++
    await route.fulfill({ json: { ...answer, matches: answer.matches.filter((/** @type {{offset: number}} */ m) => m.offset < next), next: next < answer.size ? next : null } })
  })
  await page.getByText('the needle').waitFor()
  await page.getByLabel('Search in the output').fill('the needle')
  await page.getByRole('button', { name: 'Search all of it' }).click()
  await page.getByRole('link', { name: 'the needle' }).waitFor()
  assert.ok(parts > 3, `${parts} requests`)
  await page.getByLabel('Search in the output').fill('not in it')
  await page.getByRole('button', { name: 'Search all of it' }).click()
  await page.getByText('Nothing found in all of the output.').waitFor()
})

scene('the whole output can be scrolled through, and little of it is drawn', server, async ({ open }) => {
  const page = await open(`/tasks/task/${part(ran.shards[1].taskId)}/log`)
  await page.getByText('the needle').waitFor()
  await until('the first line is there', async () => {
    await page.locator(log).evaluate((e) => e.scrollTo(0, 0))
    return page.getByRole('link', { name: 'Line 1', exact: true }).isVisible()
  })
  assert.ok((await page.locator('.log-line').count()) < 500)
  await page.getByText('Beginning of the output').waitFor()
  await page.getByRole('button', { name: 'Go to the end' }).click()
  await page.getByText('the needle').waitFor()
})

scene('the lines in view stay in place when lines above them are dropped', server, async ({ open }) => {
  await server.app('lines', 'seq 400000')
  await server.job('lines', 'lines')
  const { shards } = await server.run('lines', 'FINISHED')
  const page = await open(`/tasks/task/${part(shards[0].taskId)}/log?at=0`)
  await page.getByRole('link', { name: 'Line 1', exact: true }).waitFor()
  let before = 0
  await until('line 150,000 is there', async () => {
    await page.locator(log).evaluate((e) => e.scrollTo(0, e.scrollHeight))
    const now = Number(await page.locator('.log-line .log-text').first().innerText())
    assert.ok(now >= before, `line ${now} is the first one drawn, after line ${before} was`)
    before = now
    return now > 150_000
  })
})

scene('shards stand side by side, or merged by time', server, async ({ open }) => {
  const page = await open(`/executions/execution/${part(ran.executionId)}/log?stream=stderr`)
  for (const item of [0, 1, 2]) await page.getByRole('region', { name: `Shard ${item}` }).getByText(`second of ${item}`).waitFor()
  await accessible(page)
  await page.getByRole('button', { name: 'Merged by time' }).click()
  await page.getByText('second of 2').waitFor()
  const lines = await page.locator('.log-text').allInnerTexts()
  assert.deepEqual(lines.filter((l) => /first|second/.test(l)).map((l) => l.slice(21)), ['first of 0', 'first of 1', 'first of 2', 'second of 0', 'second of 1', 'second of 2'])
  await page.getByRole('button', { name: /^1 / }).click()
  await page.waitForFunction(() => !document.body.innerText.includes('first of 1'))
  assert.match(page.url(), /shards=0%2C2/)
})

scene('output can be saved', server, async ({ open }) => {
  const page = await open(`/tasks/task/${part(ran.shards[0].taskId)}/log`)
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'Download' }).click()])
  assert.match(download.suggestedFilename(), /stdout\.txt$/)
})
