// One execution: what created it, and how each shard runs or ran.
import { html, useEffect, useMemo, useRef } from '../lib/html.js'
import { get, seg, withQuery } from '../lib/api.js'
import { sourceWord } from '../lib/codewords.js'
import { useNow } from '../lib/clock.js'
import { duration } from '../lib/format.js'
import { reasonOf } from '../lib/reasons.js'
import { useResource } from '../lib/resource.js'
import { go, queryWith, useQuery } from '../lib/router.js'
import { hasEarlier, isOver, spansOf } from '../lib/spans.js'
import { texts } from '../lib/texts.js'
import { Page } from '../frame/page.js'
import { Icon } from '../pieces/icon.js'
import { Loaded } from '../pieces/notice.js'
import { State } from '../pieces/state.js'
import { Since, Time } from '../pieces/time.js'
import { Timeline } from '../pieces/timeline.js'
import { toast } from '../pieces/toast.js'
import { link } from '../routes.js'
import { executionActs } from './executionacts.js'
import { Life } from './life.js'
import { neighbour } from './runs.js'
import { Shards } from './shards.js'

const t = texts(
  {
    jobs: 'Jobs', executions: 'Executions', line: 'Time line', fired: 'Fired', by: 'by {source}', began: 'Started', ended: 'Ended', took: 'Duration', runs: 'Running for', waited: 'Waited', waitsFor: 'Waiting for', shards: 'Shards', before: 'Previous', after: 'Next', newest: 'This is the job’s newest execution.', oldest: 'No older execution of the job is known.', reason: 'Reason',
    own: 'Parameters of this run', ownHelp: 'They applied to this execution only.', log: 'Logs', not: 'not yet', package: 'Package', noLine: 'No times are recorded.', beforeKey: 'Previous execution (key [)', afterKey: 'Next execution (key ])',
  },
  {
    jobs: '作业', executions: '执行记录', line: '时间线', fired: '触发时间', by: '来源：{source}', began: '开始时间', ended: '结束时间', took: '耗时', runs: '已运行', waited: '开始前等待', waitsFor: '等待原因', shards: '分片', before: '上一次', after: '下一次', newest: '这是该作业最近一次执行。', oldest: '没有更早的执行记录。', reason: '原因',
    own: '本次执行的参数', ownHelp: '仅对这次执行有效。', log: '日志', not: '尚未', package: '应用包', noLine: '没有可显示的时间。', beforeKey: '上一次执行（键 [）', afterKey: '下一次执行（键 ]）',
  },
)

/**
 * readAttempts reads the rows of all attempts in the history, at most 2,000.
 * @param {string} path
 * @param {AbortSignal} signal
 */
async function readAttempts(path, signal) {
  const rows = []
  for (let next = ''; ; ) {
    const page = await get(next ? `${path}&after=${encodeURIComponent(next)}` : path, signal)
    rows.push(...page.rows)
    next = page.next
    if (!next || rows.length >= 2000) return rows
  }
}

/** @param {{execution: string}} props */
export default function Execution({ execution: id }) {
  const mine = (/** @type {import('../lib/live.js').Change} */ c) => c.executions.includes(id)
  const many = useRef(false)
  const execution = useResource(`/api/execution/${seg(id)}`, { on: mine, gap: many.current ? 3000 : 1000 })
  many.current = (execution.data?.shards.length ?? 0) > 200
  const e = execution.data
  const job = useResource(e ? `/api/job/jobs/${seg(e.jobName)}` : null)
  const waits = e && !isOver(e.state) && (e.state === 'WAITING' || e.shards.some((/** @type {any} */ s) => s.state === 'WAITING'))
  const explain = useResource(waits ? `/api/job/${seg(e.jobName)}/explain` : null, { on: mine, every: 5000 })
  const past = useResource(e && e.source !== 'DAEMON' && hasEarlier(e) ? withQuery('/api/job/events/executions', { executionId: id, per_page: 500, sort: 'startTime', order: 'ASC' }) : null, { on: mine, gap: 2000, read: readAttempts })
  const step = (/** @type {'before' | 'after'} */ which) => async () => {
    if (!e) return
    try {
      const found = await neighbour(e, which)
      if (found) go(link.execution(found))
      else toast(t(which === 'after' ? 'newest' : 'oldest'))
    } catch (error) {
      toast(/** @type {Error} */ (error).message, { error: true })
    }
  }
  useKeys({ '[': step('before'), ']': step('after') }, [e?.executionId])
  const acts = e && executionActs({ execution: e, app: job.data?.appName ?? '', changed: execution.reload })
  return html`<${Page} title=${id} crumbs=${e ? [{ to: '/jobs', text: t('jobs') }, { to: link.job(e.jobName), text: e.jobName }, { to: `${link.job(e.jobName)}?tab=executions`, text: t('executions') }] : [{ to: '/executions', text: t('executions') }]}
      main=${acts?.main} heading=${e && html`<${State} of=${e.state} />`}
      acts=${html`<button type="button" class="button" title=${t('beforeKey')} disabled=${!e} onClick=${step('before')}><${Icon} name="collapse" />${t('before')}</button><button type="button" class="button" title=${t('afterKey')} disabled=${!e} onClick=${step('after')}>${t('after')}<${Icon} name="expand" /></button>
        <a class="button" href=${link.executionLog(id)}><${Icon} name="audit" />${t('log')}</a>${acts?.others}`}>
    <${Loaded} of=${execution}>${(/** @type {any} */ data) => html`<${Body} execution=${data} rows=${past.data ?? none} waiting=${explain.data?.waiting ?? none} job=${job.data} reload=${() => (execution.reload(), explain.reload())} />`}</${Loaded}>
  </${Page}>`
}

/** @type {any[]} */
const none = []

/** @param {{execution: any, rows: any[], waiting: any[], job: any, reload: () => void}} props */
function Body(props) {
  return isOver(props.execution.state) ? html`<${Drawn} ...${props} now=${0} />` : html`<${Ticking} ...${props} />`
}

/** Ticking draws a live execution again each second. */
const Ticking = (/** @type {any} */ props) => html`<${Drawn} ...${props} now=${useNow()} />`

/** @param {{execution: any, rows: any[], waiting: any[], job: any, reload: () => void, now: number}} props */
function Drawn({ execution: e, rows, waiting, job, reload, now }) {
  const [query, setQuery] = useQuery()
  const until = e.shards.length > 200 ? Math.floor(now / 5000) * 5000 : now // with many shards, the time lines grow only every 5 s
  const spans = useMemo(() => spansOf(e, rows, waiting, until), [e, rows, waiting, until])
  const begins = spans.shards.flatMap((s) => s.attempts.map((a) => a.began ?? Infinity))
  const began = begins.reduce((a, b) => Math.min(a, b), Infinity)
  const zone = job?.timeZone ?? ''
  const zoom = /^(\d+)-(\d+)$/.exec(query.zoom ?? '')
  const checksums = new Set(e.shards.map((/** @type {any} */ s) => s.packageSHA256).filter(Boolean))
  const shard = (/** @type {number} */ item) => `${queryWith({ shard: item, show: '', page: '' })}#shards`
  return html`
    <dl class="cards five">
      <${Fact} label=${t('fired')} below=${t('by', { source: sourceWord(e.source) })}><${Time} at=${e.fireTime} jobZone=${zone} exact /></${Fact}>
      <${Fact} label=${t('waited')}>${Number.isFinite(began) ? duration(began - spans.from) : over(e) ? duration(spans.to - spans.from) : html`<${Since} at=${e.fireTime} />`}</${Fact}>
      <${Fact} label=${t('began')} below=${Number.isFinite(began) && html`<${Time} at=${began} jobZone=${zone} />`}>${Number.isFinite(began) ? html`<${Time} at=${began} jobZone=${zone} exact />` : t('not')}</${Fact}>
      <${Fact} label=${t('ended')} below=${over(e) && html`<${Time} at=${spans.to} jobZone=${zone} />`}>${over(e) ? html`<${Time} at=${spans.to} jobZone=${zone} exact />` : t('not')}</${Fact}>
      <${Fact} label=${over(e) ? t('took') : t('runs')}>${Number.isFinite(began) ? duration(Math.floor((spans.to - began) / (over(e) ? 1 : 1000)) * (over(e) ? 1 : 1000)) : '–'}</${Fact}>
    </dl>
    ${e.reason && html`<section class=${`box said s-${e.state === 'FAILED' ? 'failed' : e.state === 'WAITING' ? 'waiting' : 'killed'}`}><h2>${t(e.state === 'WAITING' ? 'waitsFor' : 'reason')}</h2><pre class="cause">${reasonOf(e)}</pre></section>`}
    <section class="box"><h2>${t('line')}</h2>
      <${Timeline} spans=${spans} jobZone=${zone} to=${shard} zoom=${zoom ? [Number(zoom[1]), Math.max(Number(zoom[2]), Number(zoom[1]) + 1)] : null} onZoom=${(/** @type {[number, number] | null} */ z) => setQuery({ zoom: z ? z.join('-') : '' })} />
    </section>
    <${Shards} execution=${e} spans=${spans} waiting=${waiting} app=${job?.appName ?? ''} jobZone=${zone} query=${query} setQuery=${setQuery} reload=${reload} />
    ${e.overrides && html`<section class="box"><h2>${t('own')}</h2><p class="small muted">${t('ownHelp')}</p><dl class="facts">${Object.entries(e.overrides).map(([k, v]) => html`<dt key=${k}><code>${k}</code></dt><dd><code>${typeof v === 'string' ? v : JSON.stringify(v)}</code></dd>`)}</dl></section>`}
    ${checksums.size > 0 && html`<p class="small muted">${t('package')} ${[...checksums].map((sum) => html`<code key=${sum}>${sum}</code> `)}</p>`}
    <${Life} life=${e.life} note=${e.lifeNote} jobZone=${zone} />`
}

const over = (/** @type {any} */ e) => isOver(e.state)

/** @param {{label: string, below?: any, children?: any}} props */
const Fact = ({ label, below, children }) => html`<div class="card"><dt class="label">${label}</dt><dd class="fact">${children}</dd>${below && html`<dd class="small muted">${below}</dd>`}</div>`

/**
 * useKeys calls the function of a key when it is pressed, unless the user is typing into a field.
 * @param {Record<string, () => void>} keys
 * @param {unknown[]} on
 */
function useKeys(keys, on) {
  useEffect(() => {
    const press = (/** @type {KeyboardEvent} */ k) => {
      const act = keys[k.key]
      if (!act || k.ctrlKey || k.metaKey || document.querySelector('dialog[open]') || /** @type {Element} */ (k.target).closest('input, textarea, select, [contenteditable]')) return
      k.preventDefault()
      act()
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, on)
}
