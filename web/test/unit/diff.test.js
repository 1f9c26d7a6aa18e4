import test from 'node:test'
import assert from 'node:assert/strict'
import { differences, middles, same } from '../../static/js/lib/diff.js'

test('differences are listed field by field', () => {
  const before = { cron: '', n: 1, props: { a: '1', 'b.c': '2' }, env: { K: { value: '******', secret: true } }, gone: false }
  const after = { n: 1, cron: '0 0 3 * * ?', props: { 'b.c': '3', a: '1', d: 'new' }, env: { K: { secret: true, value: '******' } } }
  assert.deepEqual(differences(before, after), [
    { field: 'cron', kind: 'changed', before: '', after: '0 0 3 * * ?' },
    { field: 'props.b.c', kind: 'changed', before: '2', after: '3' },
    { field: 'props.d', kind: 'added', before: undefined, after: 'new' },
    { field: 'gone', kind: 'removed', before: false, after: undefined },
  ])
  assert.deepEqual(differences(after, after), [])
  assert.deepEqual(differences(null, { a: 1 }), [{ field: 'a', kind: 'added', before: undefined, after: 1 }])
  assert.deepEqual(differences({ a: { b: 1 } }, null), [{ field: 'a.b', kind: 'removed', before: 1, after: undefined }])
  assert.deepEqual(differences({ a: [1, 2] }, { a: [1, 3] }), [{ field: 'a', kind: 'changed', before: [1, 2], after: [1, 3] }])
})

test('a secret that is hidden in both sides of an audit row is listed, as it may have changed', () => {
  const row = { props: { 'email.password': '******' }, cron: 'x' }
  assert.deepEqual(differences(row, row, { onlyChanges: true }), [{ field: 'props.email.password', kind: 'hidden', before: '******', after: '******' }])
})

test('middles returns the common ends of two texts, and the middles that differ', () => {
  assert.deepEqual(middles('0/5 * * * * ?', '0/9 * * * * ?'), ['0/', '5', '9', ' * * * * ?'])
  assert.deepEqual(middles('aaa', 'aa'), ['aa', 'a', '', ''])
  assert.deepEqual(middles('x😀y', 'x😁y'), ['x', '😀', '😁', 'y'])
  assert.deepEqual(middles('', ''), ['', '', '', ''])
})

test('the order of fields makes no difference', () => {
  assert.ok(same({ a: 1, b: [{ c: 2, d: 3 }] }, { b: [{ d: 3, c: 2 }], a: 1 }))
  assert.ok(!same({ a: 1 }, { a: 1, b: undefined }))
  assert.ok(!same([1], { 0: 1 }))
})
