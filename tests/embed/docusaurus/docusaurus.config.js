export default {
  title: "Embeds in Docusaurus",
  url: "https://docs.example",
  baseUrl: "/",
  onBrokenLinks: "ignore",
  presets: [["classic", { docs: { routeBasePath: "/", sidebarPath: undefined }, blog: false }]],
  // This line is the recipe.
  scripts: [{ src: "https://calculator.example/embed.js", async: true }],
};
