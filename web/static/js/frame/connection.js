import { html } from '../lib/html.js'
import { connection, reconnectNow } from '../lib/live.js'
import { useSignal } from '../lib/signal.js'
import { texts } from '../lib/texts.js'
import { Since } from '../pieces/time.js'

const t = texts(
  { lost: 'No connection to the server: what you see is as old as this. It is tried again by itself.', now: 'Try now' },
  { lost: '与调度器的连接已断开，以下内容停留在断开时。正在自动重连。', now: '立即重试' },
)

/** ConnectionBar is there while the stream of changes is lost. */
export function ConnectionBar() {
  const c = useSignal(connection)
  if (c.state !== 'lost') return null
  return html`<div class="connection" role="status">${t('lost')} <${Since} at=${c.since} /> <button type="button" class="link-button" onClick=${reconnectNow}>${t('now')}</button></div>`
}
