// Explains the state of a job: waiting shards and their reasons, running shards, fires without a run, and why the last run failed.
import { html } from '../lib/html.js'
import { number, percent } from '../lib/format.js'
import { groupBy, ranges } from '../lib/ranges.js'
import { notesOf, reasonOf } from '../lib/reasons.js'
import { texts } from '../lib/texts.js'
import { State } from '../pieces/state.js'
import { Since, Time } from '../pieces/time.js'
import { link } from '../routes.js'
import { Reason } from './forget.js'

const t = texts(
  {
    title: 'Now', shards: '{n|shard|shards} ({items})', waits: 'of {execution}, for', runs: 'of {execution}, for', quiet: 'Idle: nothing is running or waiting.', DISABLED: 'Disabled: neither its cron nor a trigger starts a run.', APP_DISABLED: 'Disabled together with its app.', PAUSED: 'Paused: no new runs start, and waiting ones are held.', SHUTTING_DOWN: 'Shutting down: running shards finish, then the job is disabled.', ON_TRIGGER: 'No cron: it runs when it is triggered.', NEVER: 'Its cron never fires again.', FAULTY: 'Its document is faulty: no runs start.',
    dropped: '{n|fire was|fires were} dropped because the job was busy, the last', missed: '{n|period|periods} without a leader, in which the job did not fire, the last', failed: 'Last run failed', log: 'Logs', of: 'Shards of', since: 'since',
  },
  {
    title: '当前状态', shards: '{n} 个分片（{items}）', waits: '属于 {execution}，已等待', runs: '属于 {execution}，已运行', quiet: '空闲：没有运行中或等待中的分片。', DISABLED: '作业已禁用：cron 和手动触发都不会开始执行。', APP_DISABLED: '所属应用已禁用，作业也随之禁用。', PAUSED: '作业已暂停：不开始新的执行，等待中的保持等待。', SHUTTING_DOWN: '作业将在运行完后禁用：运行中的分片运行至结束，不再开始新的执行。', ON_TRIGGER: '没有 cron：仅在手动触发时运行。', NEVER: 'cron 不会再触发。', FAULTY: '配置有误，无法使用，不会执行。',
    dropped: '{n} 次触发因作业繁忙而未执行，最近一次', missed: '{n} 段时间没有主调度器，期间未触发，最近一次', failed: '最近一次执行失败', log: '日志', of: '分片属于', since: '始于',
  },
)

// The states that have a sentence of their own.
const describedStates = ['DISABLED', 'APP_DISABLED', 'PAUSED', 'SHUTTING_DOWN', 'ON_TRIGGER', 'NEVER', 'FAULTY']

/** @param {{explain: any, app: string, jobZone: string}} props */
export function Explain({ explain: e, app, jobZone }) {
  const waiting = groupBy(/** @type {any[]} */ (e.waiting), (w) => `${w.executionId} ${w.reason}`)
  const running = groupBy(/** @type {any[]} */ (e.running), (r) => `${r.executionId} ${r.state} ${r.reason ?? ''}`)
  const ended = groupBy(/** @type {any[]} */ (e.ended ?? []), (s) => `${s.executionId} ${s.state} ${s.reason}`)
  const failed = e.lastRun?.state === 'FAILED' ? e.lastRun : null
  return html`<section class="box" style=${{ minHeight: '88px' }}><h2>${t('title')}</h2><ul class="explain">
    ${describedStates.includes(e.state) && html`<li><${State} of=${e.state} /><div>${t(/** @type {any} */ (e.state))}</div></li>`}
    ${waiting.map((of) => html`<${Group} key=${`w${of[0].executionId}${of[0].reason}`} state="WAITING" of=${of}><${Reason} of=${of[0]} app=${app} /></${Group}>`)}
    ${running.map((of) => html`<${Group} key=${`r${of[0].executionId}${of[0].state}${of[0].reason ?? ''}`} state=${of[0].state} of=${of}>${of[0].reason && html`<${Reason} of=${of[0]} app=${app} />`}<${Progress} of=${of} /></${Group}>`)}
    ${ended.map((of) => html`<${Group} key=${`e${of[0].executionId}${of[0].state}${of[0].reason}`} state=${of[0].state} of=${of}><pre class="cause">${reasonOf(of[0])}</pre></${Group}>`)}
    ${!waiting.length && !running.length && !describedStates.includes(e.state) && html`<li class="muted">${t('quiet')}</li>`}
    ${failed && html`<li><${State} of="FAILED" /><div><div>${t('failed')} <${Time} at=${failed.completeTime} jobZone=${jobZone} />: <a href=${link.execution(failed.executionId)}>${failed.executionId}</a> · <a href=${link.executionLog(failed.executionId)}>${t('log')}</a></div><pre class="cause">${reasonOf(failed)}</pre></div></li>`}
    ${e.droppedFires && html`<${Fires} text=${t('dropped', { n: e.droppedFires.count })} of=${e.droppedFires} jobZone=${jobZone} />`}
    ${e.missedFires && html`<${Fires} text=${t('missed', { n: e.missedFires.count })} of=${e.missedFires} jobZone=${jobZone} />`}
    ${notesOf(e).map((note) => html`<li key=${note}><span class="sign" aria-hidden="true">i</span><div>${note}</div></li>`)}
  </ul></section>`
}

/** @param {{state: string, of: any[], children?: any}} props */
const Group = ({ state, of, children }) => html`<li><${State} of=${state} /><div>
  <div>${t('shards', { n: of.length, items: ranges(of.map((w) => w.item)) })} · <a href=${link.execution(of[0].executionId)}>${of[0].executionId}</a>${of[0].since && html` · <${Since} at=${of.reduce((a, b) => (a < b.since ? a : b.since), of[0].since)} />`}</div>${children}</div></li>`

/** @param {{of: any[]}} props */
function Progress({ of }) {
  const known = of.filter((r) => r.progress)
  if (!known.length) return null
  const message = of.length === 1 ? known[0].progress.message : known.find((r) => r.progress.notice)?.progress.message
  const withFraction = known.filter((r) => !r.progress.notice)
  if (!withFraction.length) return html`<div class="small muted">${message}</div>`
  const mean = withFraction.reduce((sum, r) => sum + r.progress.fraction, 0) / of.length
  return html`<div class="progress"><span class="meter" aria-hidden="true"><span style=${{ width: `${100 * mean}%` }}></span></span><span class="small muted">${percent(Math.round(mean * 100) / 100)}${message ? ` · ${message}` : ''}</span></div>`
}

/** @param {{text: string, of: any, jobZone: string}} props */
const Fires = ({ text, of, jobZone }) => html`<li><span class="sign" aria-hidden="true">${number(of.count)}</span><div>${text} <${Time} at=${of.last} jobZone=${jobZone} />: ${reasonOf(of)}</div></li>`
