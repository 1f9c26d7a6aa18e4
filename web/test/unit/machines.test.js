import '../lib/nobrowser.js'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cordonForm, cordonRequest, machineActs } from '../../static/js/lib/machines.js'

const now = Date.parse('2026-05-01T12:00:00.500Z')

/** @param {Partial<import('../../static/js/lib/machines.js').Cordon>} [fields] */
const cordonWith = (fields) => ({
  since: '', by: '', reason: 'its disk fails', until: null, dead: null, drain: null, ...fields,
})

/** @param {string | null} deadline */
const drainUntil = (deadline) => ({ since: '', deadline, drained: null, left: [], leftTotal: 0 })

test('a machine can be drained and declared dead until it is dead, and its drain can be changed', () => {
  for (const [cordon, want] of /** @type {[any, string[]][]} */ ([
    [undefined, ['cordon', 'drain', 'dead']],
    [cordonWith(), ['uncordon', 'drain', 'dead']],
    [cordonWith({ drain: drainUntil(null) }), ['uncordon', 'changeDrain', 'dead']],
    [cordonWith({ dead: '2026-05-01T12:00:00Z' }), ['uncordon']],
    [cordonWith({ dead: '2026-05-01T12:00:00Z', drain: drainUntil(null) }), ['uncordon']],
  ])) assert.deepEqual(machineActs(cordon), want)
})

test('a drain that is sent with the preset fields changes nothing', () => {
  for (const [cordon, want] of /** @type {[any, object][]} */ ([
    [cordonWith({ drain: drainUntil(null) }), {}],
    [cordonWith({ drain: drainUntil('2026-05-01T13:00:00Z') }), { deadlineSeconds: 3600 }],
    [cordonWith({ drain: drainUntil('2026-05-01T11:00:00Z') }), { deadlineSeconds: 1 }],
    [cordonWith({ until: '2026-05-02T12:00:00Z', drain: drainUntil(null) }), { until: '2026-05-02T12:00:00Z' }],
    [
      cordonWith({ until: '2026-05-02T12:00:00Z', drain: drainUntil('2026-05-01T13:00:00Z') }),
      { until: '2026-05-02T12:00:00Z', deadlineSeconds: 3600 },
    ],
  ])) {
    const { body } = cordonRequest('node-1', true, cordonForm(cordon), cordon, now)
    assert.deepEqual(body, { reason: 'its disk fails', ...want })
  }
})

test('a new drain does not end with the cordon of before', () => {
  const cordon = cordonWith({ until: '2026-05-01T12:10:00Z' })
  assert.deepEqual(cordonRequest('node-1', true, cordonForm(cordon), cordon, now).body, { reason: 'its disk fails' })
})

test('fields that are chosen replace those of the cordon', () => {
  const was = cordonWith({ until: '2026-05-02T12:00:00Z', drain: drainUntil('2026-05-01T13:00:00Z') })
  for (const [cordon, fields, body] of /** @type {[any, object, object][]} */ ([
    [was, { reason: 'kernel', deadline: 4 }, { reason: 'kernel', until: was.until, deadlineSeconds: 14_400 }],
    [was, { deadline: 0, until: 1 }, { reason: was.reason, until: '2026-05-01T13:00:00Z' }],
    [was, { deadline: 0, until: 0 }, { reason: was.reason }],
    [undefined, { reason: 'kernel', until: 24 }, { reason: 'kernel', until: '2026-05-02T12:00:00Z' }],
    [undefined, { reason: 'kernel' }, { reason: 'kernel' }],
  ])) {
    const form = { ...cordonForm(cordon), ...fields }
    const path = `/api/agent/node%2F1/${cordon ? 'drain' : 'cordon'}`
    assert.deepEqual(cordonRequest('node/1', Boolean(cordon), form, cordon, now), { method: 'POST', path, body })
  }
})
