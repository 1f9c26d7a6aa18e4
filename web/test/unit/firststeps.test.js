import '../lib/nobrowser.js'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stepsOf } from '../../static/js/lib/firststeps.js'

test('the first steps say what is done, and contain the requests for the rest', () => {
  const example = { app: { appName: 'example' }, jobs: [{ jobName: 'a/b' }] }
  const publish = 'POST /api/app {"appName":"example"}'
  const rest = [['POST /api/job/register {"jobName":"a/b"}'], ['POST /api/job/a%2Fb/trigger']]
  const none = [[], [], []]
  for (const [what, known, apps, done, want] of /** @type {[string, any, any, boolean, string[][]][]} */ ([
    ['a new server', example, [], false, [[publish], ...rest]],
    ['the app of the example is there', example, [{ appName: 'example' }], true, [[], ...rest]],
    ['another app is there', example, [{ appName: 'other' }], true, [[publish], ...rest]],
    ['it is not known yet which apps there are', example, undefined, false, none],
    ['a user who may not publish', undefined, undefined, false, none],
  ])) {
    const steps = stepsOf(known, apps)
    assert.deepEqual(steps.map((s) => s.name), ['publish', 'register', 'trigger'])
    assert.deepEqual(steps.map((s) => s.done), [done, false, false], what)
    assert.deepEqual(steps.map((s) => s.requests.map((r) => [r.method, r.path, r.body && JSON.stringify(r.body)].filter(Boolean).join(' '))), want, what)
  }
})
