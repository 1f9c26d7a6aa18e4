import '../lib/nobrowser.js'
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { causeOf, inWords, messageOf, noteOf, notesOf, orphanOf, reasonOf, shortReasonOf, startCauseOf, waitOf } from '../../static/js/lib/reasons.js'
import { chinese } from '../../static/js/lib/reasonwords.js'
import { language } from '../../static/js/lib/store.js'

// The words of package reason for its examples.
const known = JSON.parse(readFileSync(new URL('../../../internal/reason/testdata/words.json', import.meta.url), 'utf8'))

test("reasons have the server's words", () => {
  assert.ok(known.examples.length > 80)
  for (const { code, args, english, chinese: own } of known.examples) {
    assert.equal(inWords(known.english, code === 'text' ? english : 'a sentence', code, args), english)
    assert.equal(inWords(chinese, english, code, args), own)
  }
})

test('a reason without a translation keeps the sentence of the server', () => {
  for (const [code, args] of /** @type {[string | undefined, any][]} */ ([
    [undefined, undefined], ['', undefined], ['of_a_later_release', { a: 'b' }], ['constructor', undefined], ['text', undefined],
    ['lost_too_often', { times: '2', last: { code: 'of_a_later_release' } }], ['lost_too_often', { times: '2', last: { code: 'of_item', args: { item: '1', cause: { code: 'of_a_later_release' } } } }],
  ])) assert.equal(inWords(chinese, 'a sentence', code, args), 'a sentence', code)
})

test('arguments are shown as plain text', () => {
  for (const text of ['{last}', '[a]', '$& $1', '<b>']) assert.equal(inWords(chinese, '', 'agent', { id: text }), `Agent ${text}`)
})

test('each field with a code is said in the language of the console', () => {
  const of = {
    reason: 'the job is disabled', reasonCode: 'job_disabled', waitingFor: 'tried again at T', waitingForCode: 'retry_at', waitingForArgs: { at: 'T' },
    failureCause: 'lost 2 times; last: exit status 3', failureCode: 'lost_too_often', failureArgs: { times: '2', last: { code: 'text', args: { text: 'exit status 3' } } },
    cause: 'HOST did not answer', causeCode: 'host_silent', causeArgs: { host: 'HOST' }, message: 'a warning',
    note: 'takes no tasks now: cordoned', noteCode: 'takes_no_tasks', noteArgs: { why: 'cordoned' },
  }
  const said = () => [reasonOf(of), causeOf(of), waitOf(of), startCauseOf(of), messageOf(of), noteOf(of)]
  assert.deepEqual(said(), [of.reason, of.failureCause, of.waitingFor, of.cause, of.message, of.note])
  language.set('zh')
  assert.deepEqual(said(), ['作业已禁用', '已丢失 2 次；最近一次：exit status 3', 'T 重试', 'HOST 没有应答', 'a warning', '目前不接收任务：cordoned'])
  assert.deepEqual([reasonOf(null), causeOf({}), waitOf(undefined), messageOf({ message: '' })], ['', '', '', ''])
  language.set('en')
})

test('a short reason is the exception, or the last line of the output', () => {
  const of = (/** @type {string} */ text, shards = '3') => ({ reason: 'whole', reasonCode: 'shards_failed', reasonArgs: { failed: '1', shards, item: '1', cause: { code: 'text', args: { text } } } })
  const java = 'exit status 1; its working directory is kept on the agent: /k; end of stderr:\njava.lang.Error: a (A.java:1)\nCaused by: java.net.ConnectException: refused (B.java:17)\nbye'
  assert.equal(shortReasonOf(of(java)), 'item 1: ConnectException: refused (B.java:17)')
  assert.equal(shortReasonOf(of(java, '1')), 'ConnectException: refused (B.java:17)')
  assert.equal(shortReasonOf(of('exit status 3; end of stderr:\nbegun\nno luck')), 'item 1: no luck')
  for (const text of ['exit status 3; it wrote nothing', 'ended by signal 9 (killed); end of stderr:\nrow 7']) assert.equal(shortReasonOf(of(text)), 'whole')
  assert.equal(shortReasonOf({ reason: 'the job is disabled', reasonCode: 'job_disabled' }), 'the job is disabled')
  language.set('zh')
  assert.equal(shortReasonOf(of(java)), '分片 1：ConnectException: refused (B.java:17)')
  language.set('en')
})

test('notes are said in the language of the console', () => {
  const of = {
    notes: ['jobType is ignored', 'item 1: it ends with the run under way: the job is disabled', 'a later note', 'of an earlier server'],
    noteReasons: [{ code: 'text' }, { code: 'of_item', args: { item: '1', cause: { code: 'ends_with_run', args: { why: { code: 'job_disabled' } } } } }, { code: 'of_a_later_release' }],
  }
  assert.deepEqual(notesOf(of), of.notes)
  language.set('zh')
  assert.deepEqual(notesOf(of), [of.notes[0], '分片 1：将随当前这次运行结束：作业已禁用', ...of.notes.slice(2)])
  assert.deepEqual([notesOf({}), notesOf(null)], [[], []])
  language.set('en')
})

test('orphanOf returns the task and the agent that the arguments of the code name', () => {
  const orphan = { code: 'orphan_may_run', args: { task: 'TASK', agent: 'AGENT' } }
  const waits = { ...orphan.args, stuck: false }
  for (const [reasonCode, reasonArgs, want] of /** @type {[string | undefined, any, object | undefined][]} */ ([
    ['orphan_may_run', orphan.args, waits], ['exclusive_unreachable', orphan.args, waits], ['orphan_unkilled', orphan.args, { ...waits, stuck: true }],
    ['after_attempt', { now: orphan, last: { code: 'text', args: { text: 'POST /api/task/OTHER/forget' } } }, waits],
    ['job_disabled', undefined, undefined], [undefined, undefined, undefined], ['text', undefined, undefined], ['lost_too_often', { task: 'TASK' }, undefined],
  ])) assert.deepEqual(orphanOf({ reasonCode, reasonArgs }), want, reasonCode)
})
