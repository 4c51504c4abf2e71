// Delivers events of OpenCode to the Hivelore service of this machine, and adds its answers to prompts. Each event runs
// the hook in a separate process with a short time limit. Errors are ignored: OpenCode continues without memories.
import { spawn } from "node:child_process"

const commands = {"hook": ["hivelore", "hook", "--agent", "opencode"], "tools": ["hivelore", "mcp"], "environment": {}}
const PATIENCE = 3000 // Milliseconds; a hook takes a tenth of it at most.

export const Hivelore = async ({ client, directory }) => {
  const parents = new Map() // By session: the session that started it, or null.
  const answers = new Map() // By session: the last message of its model, which may be incomplete.
  const running = new Set()

  const deliver = (event, about) => {
    const delivery = run(JSON.stringify({ hook_event_name: event, cwd: directory, ...about }), directory)
    running.add(delivery)
    return delivery.finally(() => running.delete(delivery))
  }

  const parentOf = async (session) => {
    if (!parents.has(session)) {
      const found = await client.session.get({ path: { id: session } }).catch(() => undefined)
      parents.set(session, found?.data?.parentID ?? null)
    }
    return parents.get(session)
  }

  // A session that another session started is a sub-agent of that session.
  const whose = (session, parent, agent) =>
    parent ? { session_id: parent, agent_id: session, agent_type: agent || "agent" } : { session_id: session }

  const on = {
    "session.created": ({ info }) => parents.set(info.id, info.parentID ?? null),
    "session.deleted": ({ info }) => {
      parents.delete(info.id)
      answers.delete(info.id)
    },
    "message.updated": ({ info }) => {
      if (info.role === "assistant" && answers.get(info.sessionID)?.id !== info.id)
        answers.set(info.sessionID, { id: info.id, agent: info.agent, sums: info.summary === true, texts: new Map() })
    },
    "message.part.updated": ({ part }) => {
      const answer = answers.get(part.sessionID)
      if (part.type === "text" && answer?.id === part.messageID) answer.texts.set(part.id, part.text)
    },
    "session.compacted": ({ sessionID }) => {
      const answer = answers.get(sessionID)
      if (answer?.sums && !parents.get(sessionID))
        deliver("session.compacted", { session_id: sessionID, compact_summary: words(answer) })
    },
    "session.idle": ({ sessionID }) => {
      const answer = answers.get(sessionID)
      const parent = parents.get(sessionID)
      if (answer && !answer.sums)
        deliver(parent ? "subagent.idle" : "session.idle", {
          ...whose(sessionID, parent, answer.agent),
          last_assistant_message: words(answer),
        })
    },
  }

  return {
    config: async (config) => {
      const hivelore = { type: "local", command: commands.tools, environment: commands.environment, enabled: true }
      config.mcp = { hivelore, ...config.mcp }
    },
    event: async ({ event }) => {
      on[event.type]?.(event.properties)
    },
    "chat.message": async ({ sessionID, agent }, { message, parts }) => {
      const asked = parts.filter((part) => part.type === "text" && !part.synthetic && !part.ignored)
      if (!asked.length) return
      const parent = await parentOf(sessionID)
      const said = await deliver(parent ? "subagent.started" : "chat.message", {
        ...whose(sessionID, parent, agent ?? message.agent),
        prompt: asked.map((part) => part.text).join("\n"),
      })
      if (!said) return
      const { id, messageID } = parts.at(-1) // Parts are sorted by id.
      parts.push({ id: `${id}h`, sessionID, messageID, type: "text", synthetic: true, text: said })
    },
    "experimental.session.compacting": async ({ sessionID }) => {
      if (!(await parentOf(sessionID))) await deliver("session.compacting", { session_id: sessionID })
    },
    dispose: async () => {
      await Promise.all(running)
    },
  }
}

const words = (answer) => [...answer.texts.values()].join("\n")

// Runs the hook with an event. Returns the text to inject; empty if there is none.
const run = (event, folder) =>
  new Promise((resolve) => {
    const [program, ...rest] = commands.hook
    const child = spawn(program, rest, { cwd: folder, stdio: ["pipe", "pipe", "ignore"] })
    const timer = setTimeout(() => child.kill(), PATIENCE)
    let said = ""
    child.stdout.setEncoding("utf8").on("data", (piece) => (said += piece))
    child.stdin.on("error", () => {})
    child.on("error", () => resolve(""))
    child.on("close", () => {
      clearTimeout(timer)
      resolve(read(said))
    })
    child.stdin.end(event)
  }).catch(() => "")

const read = (said) => {
  try {
    return JSON.parse(said).additionalContext ?? ""
  } catch {
    return ""
  }
}
