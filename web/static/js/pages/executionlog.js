// The output of an execution's shards: side by side, or merged by time.
import { html, useEffect, useMemo, useState } from '../lib/html.js'
import { plain } from '../lib/ansi.js'
import { seg } from '../lib/api.js'
import { inLots, merged } from '../lib/merge.js'
import { Reader } from '../lib/reader.js'
import { useResource } from '../lib/resource.js'
import { setQuery, useQuery } from '../lib/router.js'
import { useSignal } from '../lib/signal.js'
import { language } from '../lib/store.js'
import { texts } from '../lib/texts.js'
import { Page } from '../frame/page.js'
import { Icon } from '../pieces/icon.js'
import { Log, Row, Found, useReader } from '../pieces/log.js'
import { Lines } from '../pieces/lines.js'
import { Empty, Loaded } from '../pieces/notice.js'
import { State } from '../pieces/state.js'
import { link } from '../routes.js'
import { SearchBox, StreamSwitch, Switch, wrapLines } from './log.js'

const t = texts(
  {
    title: 'Output', executions: 'Executions', views: 'View', side: 'Side by side', merged: 'Merged by time', shard: 'Shard {item}', shards: 'Shards', most: 'At most {n} at once: choose which.', wrap: 'Wrap lines', none: 'No output yet', noneHelp: 'Output appears once a shard was launched.',
    noTimes: 'No times in the lines of shard {items}: they are shown in the order in which they arrived.', utc: 'Sorted by the time at the beginning of each line, read as UTC where it names no zone.', lines: 'Merged output', waiting: 'Not launched yet', open: 'This output alone', trouble: 'Shard {item}: {why}', end: 'Go to the end', numbers: 'Numbers of shards, such as 3, 17', further: '{n} more: type their numbers.',
  },
  {
    title: '输出', executions: '执行记录', views: '视图', side: '并排', merged: '按时间合并', shard: '分片 {item}', shards: '分片', most: '最多同时显示 {n} 个，请选择。', wrap: '自动换行', none: '暂无输出', noneHelp: '分片启动后才有输出。',
    noTimes: '分片 {items} 的行没有时间，按到达顺序排列。', utc: '按每行开头的时间排序，未注明时区的视为 UTC。', lines: '合并输出', waiting: '尚未启动', open: '单独查看此输出', trouble: '分片 {item}：{why}', end: '转到末尾', numbers: '分片编号，例如 3, 17', further: '另有 {n} 个：请输入编号。',
  },
)

/** @typedef {{item: number, state: string, taskId: string, agent: string}} Shard */

const ended = new Set(['FINISHED', 'FAILED', 'KILLED', 'TIMED_OUT', 'LOST'])
const most = { side: 4, merged: 16 } // shards at once, by view

/** @param {{execution: string}} props */
export default function ExecutionLog({ execution }) {
  const [query] = useQuery()
  const wrap = useSignal(wrapLines)
  const of = useResource(`/api/execution/${seg(execution)}`, { on: (c) => c.executions.includes(execution) })
  const view = query.view === 'merged' ? 'merged' : 'side'
  const stream = query.stream === 'stderr' ? 'stderr' : 'stdout'
  const crumbs = [{ to: '/executions', text: t('executions') }, { to: link.execution(execution), text: execution }]
  return html`<${Page} title=${t('title')} crumbs=${crumbs} class="log-page" heading=${of.data && html`<${State} of=${of.data.state} />`}>
    <${Loaded} of=${of}>${(/** @type {{shards: Shard[]}} */ data) => {
      const shards = (data.shards ?? []).filter((s) => s.taskId)
      if (shards.length === 0) return html`<${Empty} title=${t('none')}><p>${t('noneHelp')}</p></${Empty}>`
      const chosen = chosenOf(shards, query.shards, most[view])
      return html`<div class="log-tools">
          <div class="segments" role="group" aria-label=${t('views')}>${/** @type {const} */ (['side', 'merged']).map((v) => html`<button key=${v} type="button" aria-pressed=${v === view} onClick=${() => setQuery({ view: v === 'side' ? '' : v, at: '' }, { push: true })}>${t(v)}</button>`)}</div>
          <${StreamSwitch} stream=${stream} onChange=${(/** @type {string} */ s) => setQuery({ stream: s === 'stdout' ? '' : s }, { push: true })} />
          <${SearchBox} query=${query.q ?? ''} onChange=${(/** @type {string} */ q) => setQuery({ q })} />
          <${Switch} label=${t('wrap')} on=${wrap} onChange=${(/** @type {boolean} */ on) => wrapLines.set(on)} />
        </div>
        ${shards.length > 1 && html`<${Choice} shards=${shards} chosen=${chosen} most=${most[view]} />`}
        ${view === 'side'
          ? html`<div class="log-panes">${chosen.map((s) => html`<${Pane} key=${s.taskId + stream} shard=${s} stream=${stream} wrap=${wrap} query=${query.q ?? ''} />`)}</div>`
          : html`<${Together} key=${chosen.map((s) => s.taskId).join() + stream} shards=${chosen} stream=${stream} wrap=${wrap} query=${query.q ?? ''} />`}`
    }}</${Loaded}>
  </${Page}>`
}

/**
 * inOrder sorts shards by interest: first failed ones, then running ones, then the others.
 * @param {Shard[]} shards
 */
function inOrder(shards) {
  const rank = (/** @type {Shard} */ s) => (['FAILED', 'TIMED_OUT', 'LOST'].includes(s.state) ? 0 : ended.has(s.state) ? 2 : 1)
  return [...shards].sort((a, b) => rank(a) - rank(b) || a.item - b.item)
}

/** @param {string} text */
const numbersIn = (text) => new Set((text.match(/\d+/g) ?? []).map(Number))

/**
 * chosenOf returns the shards whose numbers the address contains, or without any the first ones of inOrder; at most `most`.
 * @param {Shard[]} shards
 * @param {string | undefined} wanted
 * @param {number} most
 */
function chosenOf(shards, wanted, most) {
  const items = numbersIn(wanted ?? '')
  const some = shards.filter((s) => items.has(s.item))
  return (some.length ? some : inOrder(shards)).slice(0, most).sort((a, b) => a.item - b.item)
}

const maxChips = 60

/** @param {{shards: Shard[], chosen: Shard[], most: number}} props */
function Choice({ shards, chosen, most }) {
  const on = new Set(chosen.map((s) => s.item))
  const choose = (/** @type {Set<number>} */ items) => items.size > 0 && setQuery({ shards: [...items].sort((a, b) => a - b).join(',') })
  const toggle = (/** @type {number} */ item) => {
    const next = new Set(on)
    if (!next.delete(item)) next.add(item)
    choose(next)
  }
  const full = on.size >= most
  const many = shards.length > maxChips
  const chips = many ? [...new Set([...chosen, ...inOrder(shards)])].slice(0, maxChips).sort((a, b) => a.item - b.item) : shards
  return html`<div class="chips" role="group" aria-label=${t('shards')}>
    ${many && html`<input class="input numbers" aria-label=${t('numbers')} placeholder=${t('numbers')} value=${[...on].join(', ')} onChange=${(/** @type {any} */ e) => choose(numbersIn(e.target.value))} />`}
    ${chips.map((s) => html`<button key=${s.item} type="button" class="chip" aria-pressed=${on.has(s.item)} disabled=${full && !on.has(s.item)} onClick=${() => toggle(s.item)}>${s.item} <${State} of=${s.state} bare /></button>`)}
    ${many && html`<span class="muted small">${t('further', { n: shards.length - chips.length })}</span>`}
    ${shards.length > most && html`<span class="muted small">${t('most', { n: most })}</span>`}
  </div>`
}

/** @param {{shard: Shard, stream: string, wrap: boolean, query: string}} props */
function Pane({ shard, stream, wrap, query }) {
  const reader = useReader(shard.taskId, stream, null)
  const alone = link.log(shard.taskId) + (stream === 'stdout' ? '' : `?stream=${stream}`)
  return html`<section class="log-pane" aria-label=${t('shard', { item: shard.item })}>
    <div class="row spread"><h2>${t('shard', { item: shard.item })}</h2><${State} of=${shard.state} bare /><span class="grow"></span><a href=${alone} class="small">${t('open')}</a></div>
    <${Log} reader=${reader} at=${null} query=${query} wrap=${wrap} aloud=${false} label=${`${stream}, ${t('shard', { item: shard.item })}`} live=${!ended.has(shard.state)} linkTo=${(/** @type {number} */ n) => `${link.log(shard.taskId)}?${stream === 'stdout' ? '' : `stream=${stream}&`}at=${n}`} />
  </section>`
}

const colours = ['fg-4', 'fg-2', 'fg-5', 'fg-3', 'fg-6', 'fg-1']

/** @param {{shards: Shard[], stream: string, wrap: boolean, query: string}} props */
function Together({ shards, stream, wrap, query }) {
  const [version, again] = useState(0)
  const [stick, setStick] = useState(true)
  const [match, setMatch] = useState(/** @type {string | null} */ (null))
  const readers = useMemo(() => shards.map((s) => new Reader(s.taskId, stream, () => again((n) => n + 1), { most: 1 << 20 })), [])
  useEffect(() => {
    for (const r of readers) void r.start(null)
    return () => readers.forEach((r) => r.stop())
  }, [])
  useEffect(() => readers.forEach((r) => r.look(stick)), [stick])
  const together = useMemo(() => merged(readers.map((r, i) => ({ key: shards[i].item, lines: r.output.blocks.flatMap((b) => b.lines) }))), [version])
  const lots = useMemo(() => inLots(together.lines), [together])
  const want = query.toLowerCase()
  const matches = useMemo(() => (want ? together.lines.filter((m) => plain(m.line.text).toLowerCase().includes(want)) : []), [together, want])
  useEffect(() => setMatch(null), [query])
  const jump = (/** @type {1 | -1} */ way) => {
    const now = matches.findIndex((m) => m.id === match) // -1 also if the match was dropped meanwhile
    const i = now < 0 && way < 0 ? matches.length - 1 : now + way
    setStick(false)
    setMatch(matches[(i + matches.length) % matches.length]?.id ?? null)
  }
  const items = new Map(shards.map((s, i) => [s.item, { ...s, colour: colours[i % colours.length] }]))
  const row = (/** @type {import('../lib/merge.js').Merged} */ m, /** @type {number} */ n) => {
    const s = items.get(m.source)
    return s && html`<${Row} key=${m.id} id=${m.id} line=${m.line} n=${n} query=${query} at=${m.id === match} to=${`${link.log(s.taskId)}?at=${m.line.at}`} tag=${html`<span class=${`log-tag ${s.colour}`} title=${t('shard', { item: s.item })}>${s.item}</span>`} />`
  }
  const troubles = readers.flatMap((r, i) => (r.error ? [t('trouble', { item: shards[i].item, why: r.error.message })] : []))
  return html`<div class="log">
    <div class="log-box"><${Lines} lots=${lots} id=${(/** @type {any} */ m) => m.id} row=${row} deps=${[query, match, language.get()]} first=${null} stick=${stick} label=${t('lines')} aloud=${false} wrap=${wrap} find=${match}
      onStick=${setStick} onNear=${(/** @type {string} */ end) => end === 'begin' && readers.forEach((r) => void r.older())} /></div>
    <div class="log-foot small">
      <span class="muted">${together.silent.length ? t('noTimes', { items: together.silent.join(', ') }) : t('utc')}</span>
      ${query && html`<${Found} n=${matches.length} onJump=${jump} />`}
      ${troubles.map((x) => html`<span key=${x} role="status"><${Icon} name="warning" size=${12} /> ${x}</span>`)}
      <span class="grow"></span>
      ${!stick && html`<button type="button" class="link-button" onClick=${() => setStick(true)}>${t('end')}</button>`}
    </div>
  </div>`
}
