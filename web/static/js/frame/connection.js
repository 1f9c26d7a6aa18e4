import { html } from '../lib/html.js'
import { connection, reconnectNow } from '../lib/live.js'
import { useSignal } from '../lib/signal.js'
import { texts } from '../lib/texts.js'
import { Since } from '../pieces/time.js'

const t = texts(
  { lost: 'Connection lost for', stale: ': this page shows the last known state. Reconnecting automatically.', now: 'Try now' },
  { lost: '与调度器的连接已断开', stale: '，以下内容停留在断开时。正在自动重连。', now: '立即重试' },
)

/** ConnectionBar is shown while the stream of changes is lost. */
export function ConnectionBar() {
  const c = useSignal(connection)
  if (c.state !== 'lost') return null
  return html`<div class="connection" role="status">${t('lost')} <${Since} at=${c.since} />${t('stale')} <button type="button" class="link-button" onClick=${reconnectNow}>${t('now')}</button></div>`
}
