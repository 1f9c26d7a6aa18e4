import '../lib/nobrowser.js'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dismiss, dismissed, forgetEnded, sentenceOf, worstOf } from '../../static/js/lib/problems.js'
import { language } from '../../static/js/lib/store.js'

/** @param {object} fields */
const problem = (fields) => /** @type {any} */ ({ kind: 'FAILING', severity: 'error', job: '', app: '', agent: '', path: '', count: 1, since: null, message: 'a message', ...fields })

test('each kind of problem is a sentence that names its thing', () => {
  for (const [fields, english, chinese] of /** @type {[object, string, string][]} */ ([
    [{ kind: 'FAILING', job: 'stock-copy', count: 3 }, 'stock-copy: last 3 runs failed', 'stock-copy：最近 3 次执行失败'],
    [{ kind: 'FAILING', job: 'stock-copy', count: 1 }, 'stock-copy: last run failed', 'stock-copy：最近一次执行失败'],
    [{ kind: 'WAITING', job: 'a', count: 2 }, 'a: 2 shards waiting', 'a：2 个分片等待中'],
    [{ kind: 'LATE', job: 'a' }, 'a: did not fire on time', 'a：未按时触发'],
    [{ kind: 'AGENT_UNREACHABLE', agent: 'db-2' }, 'Agent db-2 is unreachable', 'Agent db-2 失联'],
    [{ kind: 'NOT_SUBSCRIBED' }, 'Not subscribed to the cluster: nothing is launched', '未订阅集群，不会启动任何任务'],
    [{ kind: 'FAULTY', job: 'a', path: '/p' }, 'a: faulty document', 'a：配置有误'],
    [{ kind: 'FAULTY', path: '/p' }, '/p: faulty document', '/p：配置有误'],
    [{ kind: 'START_FAILURES', app: 'x', agent: 'db-2' }, 'x fails to start on db-2', 'x 在 db-2 上启动失败'],
    [{ kind: 'START_FAILURES', app: 'x' }, 'x fails to start', 'x 启动失败'],
    [{ kind: 'MISSED', job: 'a' }, 'a: missed fires', 'a：错过触发'],
    [{ kind: 'UNNOTIFIED', job: 'a' }, 'a: notification not sent', 'a：通知未发出'],
    [{ kind: 'DAEMON_SILENT', job: 'a' }, 'a: daemon does not report', 'a：常驻作业无响应'],
    [{ kind: 'UNNOTIFIED' }, 'Notification of operators not sent', '发给运维人员的通知未发出'],
    [{ kind: 'MOST_SILENT' }, 'Most machines are silent', '大多数机器失联'],
    [{ kind: 'BLOCKED', job: 'a' }, 'a: blocked', 'a：被阻塞'],
    [{ kind: 'CORDONED', agent: 'db-2' }, 'db-2 takes no tasks', 'db-2 已停止调度'],
    [{ kind: 'WARNING' }, 'a message', 'a message'],
    [{ kind: 'OF_A_LATER_RELEASE' }, 'a message', 'a message'],
  ])) {
    assert.equal(sentenceOf(problem(fields)), english)
    language.set('zh')
    assert.equal(sentenceOf(problem(fields)), chinese)
    language.set('en')
  }
})

test('dismissed problems stay dismissed until another problem occurs', () => {
  const fails = problem({ job: 'a', since: '2026-05-01T12:00:00Z', count: 3 })
  const waits = problem({ kind: 'WAITING', job: 'b', since: '2026-05-01T12:00:00Z' })
  const warns = problem({ kind: 'WARNING', message: '3 rows are lost' })
  const others = [waits, warns]
  for (const [what, now, total, shown] of /** @type {[string, any[], number, any][]} */ ([
    ['the same', [fails, ...others], 3, undefined],
    ['it goes on', [{ ...fails, count: 4, since: '2026-05-01T14:00:00Z' }, { ...waits, count: 9, since: '2026-05-01T13:00:00Z' }, { ...warns, message: '40 rows are lost' }], 3, undefined],
    ['another job fails, too', [fails, problem({ job: 'c' }), ...others], 4, problem({ job: 'c' })],
    ['another warning', [fails, waits, { ...warns, message: 'the disk is full' }], 3, { ...warns, message: 'the disk is full' }],
  ])) {
    dismissed.set([])
    dismiss([fails, ...others])
    forgetEnded(now, total)
    assert.deepEqual(worstOf(now, dismissed.get()), shown, what)
  }
  // The problem ended while the page was open, and has occurred again.
  for (const [total, shown] of /** @type {[number, any][]} */ ([[1, waits], [101, undefined]])) {
    dismissed.set([])
    dismiss([fails, ...others])
    forgetEnded([fails], total) // b has ended, if these are all problems
    assert.deepEqual(worstOf([fails, waits], dismissed.get()), shown, `of ${total}`)
  }
})

test('only 500 dismissed problems are kept', () => {
  dismissed.set([])
  for (let i = 0; i < 30; i++) dismiss(Array.from({ length: 100 }, (_, k) => problem({ job: `job-${i}-${k}` })))
  assert.equal(dismissed.get().length, 500)
})
