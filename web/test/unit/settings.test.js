import assert from 'node:assert/strict'
import { test } from 'node:test'
import { settingsAfter } from '../../static/js/lib/settings.js'

test('settings are followed back through all changes', () => {
  const rows = [
    { action: 'job.pause', before: { paused: false }, after: { paused: true } },
    { action: 'job.update', before: { cron: 'a' }, after: { cron: 'b', maxRetries: 2 } },
    { action: 'job.update', before: { description: 'long' }, after: { description: null } },
    { action: 'job.register', before: null, after: { jobName: 'j', cron: 'a', description: 'long' } },
    { action: 'job.delete', before: { jobName: 'j', cron: 'old' }, after: null },
    { action: 'job.register', before: null, after: { jobName: 'j', cron: 'old' } },
  ]
  assert.deepEqual(settingsAfter(rows, { jobName: 'j', cron: 'b', maxRetries: 2 }), [
    { jobName: 'j', cron: 'b', maxRetries: 2 },
    { jobName: 'j', cron: 'b', maxRetries: 2 },
    { jobName: 'j', cron: 'a' },
    { jobName: 'j', cron: 'a', description: 'long' },
    null,
    { jobName: 'j', cron: 'old' },
  ])
})
