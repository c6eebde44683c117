ddl_tool(ddl-plan ddl::plan ddl::cli)
