// Shows output: lines with linked numbers, colours and the searched text. It follows the end.
import { html, useEffect, useMemo, useState } from '../lib/html.js'
import { looks, plain, segments } from '../lib/ansi.js'
import { number, size } from '../lib/format.js'
import { Reader } from '../lib/reader.js'
import { mayPass } from '../lib/retry.js'
import { language } from '../lib/store.js'
import { texts } from '../lib/texts.js'
import { Icon } from './icon.js'
import { Lines } from './lines.js'
import { Failure } from './notice.js'

const t = texts(
  {
    line: 'Line {n}', byte: 'Line at byte {n}', more: 'Show {more} more of {all} characters', fresh: '{n|new line|new lines}', toEnd: 'Go to the end', toBegin: 'Go to the beginning', begin: 'Beginning of the output', older: 'Scroll up for older output',
    following: 'Following', paused: 'Follow stopped: you scrolled up', ended: 'The task has ended', lost: 'Connection lost, trying again', partly: 'Not at the end', gone: 'No longer kept',
    empty: 'No output', emptyYet: 'No output yet', restarted: 'Earlier output was dropped or emptied', dropped: 'The first {n} were dropped: of a large output the end is kept', loading: 'Loading', loaded: '{loaded} of {size} loaded', previous: 'Previous match', next: 'Next match', none: 'no match in what is loaded', of: '{n|match|matches} in what is loaded',
  },
  {
    line: '第 {n} 行', byte: '位于字节 {n} 的行', more: '再显示 {more} 个字符（共 {all} 个）', fresh: '{n} 行新输出', toEnd: '转到末尾', toBegin: '转到开头', begin: '输出开头', older: '向上滚动以加载更早的输出',
    following: '实时跟随', paused: '已停止跟随：您向上滚动了', ended: '任务已结束', lost: '连接中断，正在重试', partly: '未在末尾', gone: '已不再保留',
    empty: '没有输出', emptyYet: '暂无输出', restarted: '较早的输出已被丢弃或清空', dropped: '开头的 {n} 已丢弃：输出过大时只保留末尾', loading: '加载中', loaded: '已加载 {loaded}，共 {size}', previous: '上一个匹配', next: '下一个匹配', none: '已加载部分无匹配', of: '已加载部分有 {n} 个匹配',
  },
)

/** @typedef {import('../lib/output.js').Line} Line */

const shownFirst = 4000 // how many characters of a long line are shown at first

/**
 * useReader reads a stream as long as the component exists.
 * @param {string} task
 * @param {string} stream
 * @param {number | null} at
 */
export function useReader(task, stream, at) {
  const [, again] = useState(0)
  const reader = useMemo(() => new Reader(task, stream, () => again((n) => n + 1)), [task, stream])
  useEffect(() => () => reader.stop(), [reader])
  useEffect(() => {
    const { from, to } = reader.output
    if (at === null || reader.state !== 'ready' || at < from || at >= to) void reader.start(at)
    else reader.look(false)
  }, [reader, at])
  return reader
}

/**
 * Log shows the output of a reader, and below it the state of the reader.
 * @param {{reader: Reader, at: number | null, query: string, wrap: boolean, aloud: boolean, label: string, live?: boolean, linkTo: (at: number) => string}} props
 */
export function Log({ reader, at, query, wrap, aloud, label, live, linkTo }) {
  const { output } = reader
  const [match, setMatch] = useState(/** @type {number | null} */ (null))
  useEffect(() => setMatch(null), [query])
  const target = match ?? at
  const line = target === null ? null : lineAt(output.blocks, target)
  const row = (/** @type {Line} */ l, /** @type {number} */ n) => html`<${Row} key=${l.at} line=${l} n=${n} query=${query} at=${l === line} to=${linkTo(l.at)} />`
  const jump = (/** @type {1 | -1} */ way) => {
    const all = matching(output.blocks, query)
    if (all.length === 0) return
    // The present match may have been dropped from the lines meanwhile.
    const isAhead = (/** @type {Line} */ l) => (match === null ? l.at >= (at ?? 0) : l.at > match)
    const found = way === 1 ? all.find(isAhead) ?? all[0] : all.filter((l) => match !== null && l.at < match).at(-1) ?? all[all.length - 1]
    reader.look(false)
    setMatch(found.at)
  }
  if (reader.state === 'failed') return html`<${Failure} error=${reader.error} again=${() => reader.start(at)} busy=${mayPass(reader.error)} />`
  const empty = reader.state === 'ready' && output.lines === 0
  return html`<div class="log">
    <div class="log-box">
      <${Lines} lots=${output.blocks} id=${idOf} row=${row} deps=${[query, line?.at, language.get()]} first=${output.first} stick=${reader.stick} label=${label} aloud=${aloud} wrap=${wrap} find=${line && idOf(line)}
        onStick=${(/** @type {boolean} */ s) => reader.look(s && reader.following !== 'off')} onNear=${(/** @type {string} */ end) => void (end === 'begin' ? reader.older() : reader.newer())}
        above=${html`<div class="log-edge">${reader.state === 'loading' ? t('loading') : empty ? t(live ? 'emptyYet' : 'empty') : !reader.atBegin() ? t('older') : reader.dropped ? t('dropped', { n: size(reader.dropped) }) : t('begin')}</div>`} />
      ${!reader.stick && reader.fresh > 0 && html`<button type="button" class="button main small log-fresh" onClick=${() => reader.toEnd()}><${Icon} name="down" />${t('fresh', { n: reader.fresh })}</button>`}
    </div>
    <div class="log-foot small">
      <span class="log-state" role="status">${stateOf(reader)}</span>
      ${query && html`<${Found} n=${countIn(output.blocks, query)} onJump=${jump} />`}
      <span class="grow"></span>
      ${reader.restarted && html`<span class="muted">${t('restarted')}</span>`}
      ${!reader.atBegin() && reader.state === 'ready' && html`<a href=${linkTo(0)}>${t('toBegin')}</a>`}
      ${!reader.stick && html`<button type="button" class="link-button" onClick=${() => reader.toEnd()}>${t('toEnd')}</button>`}
      <span class="muted nowrap">${t('loaded', { loaded: size(output.to - output.from), size: size(Math.max(reader.size, output.to)) })}</span>
    </div>
  </div>`
}

/** @param {{n: number, onJump: (way: 1 | -1) => void}} props */
export const Found = ({ n, onJump }) => html`<span class="row nowrap" style=${{ gap: '4px' }}>
  <span>${n ? t('of', { n }) : t('none')}</span>
  <button type="button" class="button plain icon small" disabled=${!n} aria-label=${t('previous')} title=${t('previous')} onClick=${() => onJump(-1)}><${Icon} name="up" /></button>
  <button type="button" class="button plain icon small" disabled=${!n} aria-label=${t('next')} title=${t('next')} onClick=${() => onJump(1)}><${Icon} name="down" /></button>
</span>`

/** @param {Reader} reader */
export function stateOf(reader) {
  const words = {
    off: reader.state === 'loading' ? t('loading') : t('partly'),
    open: reader.stick ? t('following') : t('paused'),
    ended: t('ended'),
    lost: reader.error?.message ? `${t('lost')}: ${reader.error.message}` : t('lost'),
    gone: reader.error?.message ?? t('gone'),
  }
  return html`<span class=${`log-dot ${reader.following}${reader.stick ? '' : ' paused'}`} aria-hidden="true"></span>${words[reader.following]}`
}

/** @param {Line} l */
export const idOf = (l) => String(l.at)

/**
 * Row shows a line. Of a long line it first shows only the beginning.
 * @param {{line: Line, n: number, query: string, at: boolean, to: string, id?: string, tag?: any}} props
 */
export function Row({ line, n, query, at, to, id = idOf(line), tag }) {
  const [most, setMost] = useState(shownFirst)
  const long = line.text.length > most
  const text = long ? line.text.slice(0, most) : line.text
  const name = n ? t('line', { n }) : t('byte', { n: line.at })
  return html`<div class=${`log-line${at ? ' at' : ''}`} data-id=${id}>${tag}<a class="log-number" href=${to} tabindex="-1" title=${name} aria-label=${name}>${n || '·'}</a><span class="log-text">${drawn(text, line, query)}${long && html`<button type="button" class="link-button log-more" onClick=${() => setMost(most * 8)}>${t('more', { more: number(Math.min(most * 7, line.text.length - most)), all: number(line.text.length) })}</button>`}</span></div>`
}

/**
 * drawn returns a line, or its beginning, with its colours and with the matches of the query marked.
 * @param {string} text
 * @param {Line} line
 * @param {string} query
 */
function drawn(text, line, query) {
  const all = segments(text, line.style).segments
  const marks = query ? places(all.map((s) => s.text).join(''), query) : []
  if (!marks.length) return all.map((s) => (s.style ? html`<span class=${looks(s.style)}>${s.text}</span>` : s.text))
  const parts = []
  let at = 0
  for (const s of all) {
    for (let from = 0; from < s.text.length; ) {
      const mark = marks.find((m) => m.end > at + from)
      const inside = mark && mark.begin <= at + from
      const to = Math.min(s.text.length, (mark ? (inside ? mark.end : mark.begin) : Infinity) - at)
      const piece = s.text.slice(from, to)
      const style = looks(s.style)
      parts.push(inside ? html`<mark class=${style}>${piece}</mark>` : style ? html`<span class=${style}>${piece}</span>` : piece)
      from = to
    }
    at += s.text.length
  }
  return parts
}

/** @param {string} text @param {string} query */
function places(text, query) {
  const found = []
  const low = text.toLowerCase()
  const want = query.toLowerCase()
  for (let at = low.indexOf(want); at >= 0 && found.length < 1000; at = low.indexOf(want, at + want.length)) found.push({ begin: at, end: at + want.length })
  return found
}

/** @type {{query: string, counts: WeakMap<object, number>}} */
let counted = { query: '', counts: new WeakMap() }

/**
 * countIn returns how many lines contain a text.
 * @param {{lines: Line[]}[]} blocks
 * @param {string} query
 */
export function countIn(blocks, query) {
  if (counted.query !== query) counted = { query, counts: new WeakMap() }
  let sum = 0
  for (const b of blocks) {
    let n = counted.counts.get(b)
    if (n === undefined) {
      n = matching([b], query).length
      counted.counts.set(b, n)
    }
    sum += n
  }
  return sum
}

/**
 * matching returns the lines that contain a text.
 * @param {{lines: Line[]}[]} blocks
 * @param {string} query
 */
export function matching(blocks, query) {
  const want = query.toLowerCase()
  return blocks.flatMap((b) => b.lines.filter((l) => plain(l.text).toLowerCase().includes(want)))
}

/** lineAt returns the line that contains a byte, or null if that line is not loaded or was dropped. @param {{lines: Line[]}[]} blocks @param {number} at */
function lineAt(blocks, at) {
  for (const b of blocks) {
    const last = b.lines[b.lines.length - 1]
    if (last.at + last.bytes > at) return b.lines.find((l) => l.at <= at && at < l.at + l.bytes) ?? null
  }
  return null
}
