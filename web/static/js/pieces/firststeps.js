// The first steps where there is no job yet: by the forms, by curl, or by one button with the built-in example.
import { html, useEffect } from '../lib/html.js'
import { stepsOf } from '../lib/firststeps.js'
import { useResource } from '../lib/resource.js'
import { go } from '../lib/router.js'
import { may, mayAny } from '../lib/session.js'
import { texts } from '../lib/texts.js'
import { link } from '../routes.js'
import { ActButton } from './act.js'
import { Curl } from './curl.js'
import { Empty } from './notice.js'

const t = texts(
  {
    overview: 'Get started', jobs: 'No jobs yet', apps: 'No apps yet', publish: 'Publish an app', register: 'Register a job', trigger: 'Trigger the job', done: 'done',
    publishHelp: 'A package, any tar or zip, with a script that starts one shard of the work.', publishHelpImage: 'An image, a package, or both, with a script that starts one shard of the work.', registerHelp: 'A job says when an app runs, and in how many shards.', triggerHelp: 'Or wait for the next fire of its cron. The page of the job shows each run, and the output of every shard.',
    try: 'Three steps lead to the first run. The button takes all of them with a built-in example; so do the commands.', button: 'Publish and run the example', ran: 'The example is published, and its job was triggered', none: 'Users with the role admin for an app publish it, and register its jobs.',
  },
  {
    overview: '快速开始', jobs: '还没有作业', apps: '还没有应用', publish: '发布应用', register: '注册作业', trigger: '触发作业', done: '已完成',
    publishHelp: '应用包（任意 tar 或 zip），其中的脚本启动一个分片的工作。', publishHelpImage: '镜像、应用包或两者兼有，其中的脚本启动一个分片的工作。', registerHelp: '作业定义应用何时运行、分几片。', triggerHelp: '也可以等待 cron 的下次触发。作业页面显示每次执行，以及各分片的输出。',
    try: '三步即可完成第一次执行。点击按钮，用内置示例一次完成；下面的命令效果相同。', button: '发布并运行示例', ran: '示例已发布，其作业已触发', none: '对应用拥有管理员角色的用户可以发布应用、注册作业。',
  },
)

const forms = { publish: '/apps/new', register: '/jobs/new', trigger: '' }

/**
 * FirstSteps shows the steps to the first run, instead of the empty list of a page or of the whole overview.
 * @param {{of: 'overview' | 'jobs' | 'apps', onReady?: () => void}} props onReady is called when everything is loaded
 */
export function FirstSteps({ of, onReady }) {
  const admin = may('admin', 'example')
  const example = useResource(admin ? '/api/example' : null)
  const apps = useResource(admin ? '/api/app/list' : null, { on: (c) => c.apps.length > 0 })
  const ready = !example.loading && !apps.loading
  useEffect(() => void (ready && onReady?.()), [ready])
  const steps = stepsOf(example.data, apps.data)
  const requests = steps.flatMap((s) => s.requests)
  const [job] = example.data?.jobs ?? []
  return html`<${Empty} title=${t(of)}>
    ${!mayAny('admin') && html`<p>${t('none')}</p>`}
    ${requests.length > 0 && html`<p>${t('try')}</p><${ActButton} label=${t('button')} icon="play" main noCurl requests=${requests} done=${t('ran')} then=${() => go(link.job(job.jobName))} />`}
    <ol class="steps">${steps.map(({ name, done, requests: own }) => html`<li key=${name}>
      <h3>${forms[name] && mayAny('admin') ? html`<a href=${forms[name]}>${t(name)}</a>` : t(name)}${done && html` <span class="good small">✓ ${t('done')}</span>`}</h3>
      <p class="muted">${t(name === 'publish' && example.data?.app?.image ? 'publishHelpImage' : `${name}Help`)}</p>
      ${own.length > 0 && html`<${Curl} requests=${own} />`}</li>`)}</ol>
  </${Empty}>`
}
