if(DDL_MPI)
  ddl_tool(ddl-profile ddl::profile ddl::train ddl::cli)
endif()
