// Listens to Trunk, as its own script would, which is inline and thus forbidden by the content security policy.
new WebSocket(`ws://${location.host}/.well-known/trunk/ws`).onmessage = ({ data }) => {
  if (JSON.parse(data).type === "reload") location.reload();
};
